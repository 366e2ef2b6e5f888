"""Who may do what: one decision, with its reason, before every effect."""
