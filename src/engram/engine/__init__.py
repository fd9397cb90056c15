"""The verbs: prepare, open, require, do, record, return."""
