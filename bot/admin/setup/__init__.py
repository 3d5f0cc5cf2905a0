"""Set-up of Cardinal on GitHub; every step can be interrupted and begun again."""
