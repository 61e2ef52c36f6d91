"""Base values that every other module builds on: records, money, budgets, errors, PII handles."""
