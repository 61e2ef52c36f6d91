"""Goals with what each should leave behind, and what drives them on a whole installation."""
