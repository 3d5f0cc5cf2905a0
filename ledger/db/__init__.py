"""SQL building blocks: tables, column types, rows, transactions."""
