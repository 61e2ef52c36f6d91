"""Values that everything else is made of: records, money and budgets, errors, PII handles."""
