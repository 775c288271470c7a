-- Why: limits of a sub-key can be lowered. What its allowances had beyond the new limit goes back.
INSERT INTO ledger.kind (id, event, phase, debits, credits, meaning) VALUES
  (46, 'units.withdrawn', 0, '{liabilities:free-calls:%,liabilities:allowances:%}',
    '{equity:free-calls:granted,equity:allowances:granted}',
    'an allowance has less left, because the limit of its key was lowered');
