"""`cardinal try`: a forge that serves one repository of this machine, and survives its process."""
