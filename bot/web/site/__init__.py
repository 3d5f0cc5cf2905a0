"""Shared by pages: the visitor and the layout, parameters and filters, and the parts of their contents."""
