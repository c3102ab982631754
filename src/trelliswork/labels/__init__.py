"""Labels: schemes of prefixes, the spans they spell, what may follow what, and labels as numbers."""
