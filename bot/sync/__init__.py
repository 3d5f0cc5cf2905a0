"""GitHub's board reconciled with the ledger: cards, columns, movers, access, the sweep."""
