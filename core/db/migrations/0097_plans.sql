-- upgrade: expand
-- Why: to read a batch back, PostgreSQL 18 searched the primary key of the journal once for each account (a
-- skip scan in a bitmap), which doubled the cost of a call on a million entries of a few hundred accounts.
ALTER FUNCTION ledger.apply SET enable_bitmapscan = off;
