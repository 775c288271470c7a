-- Why: the ETH that pays for gas had no value in statements, and what gas cost stayed in equity:conversion
-- for ever. At the end of a month the ETH is valued at a price with a source.

INSERT INTO ledger.account (id, code, asset) VALUES
  (24, 'assets:eth:base:value', 1),     -- value of the ETH, in USDC
  (25, 'equity:contributed-eth', 1),    -- value of the ETH that did not come out of USDC
  (26, 'income:revaluation', 1),
  (27, 'expenses:revaluation', 1);
INSERT INTO ledger.balance (account, shard, asset, floor)
  SELECT a, shard, 1, NULL FROM ledger.head, unnest('{24,25,26,27}'::bigint[]) a;
INSERT INTO ledger.kind (id, event, phase, debits, credits, meaning, needs) VALUES
  (45, 'holdings.revalued', 0,
    '{assets:eth:base:value,equity:conversion:usdc,expenses:revaluation}',
    '{assets:eth:base:value,equity:contributed-eth,income:revaluation}',
    'the ETH is valued at a price; what gas cost until then is taken out of its value',
    '{author,reason,price,price_source}');

ALTER TABLE hub.staff_act DROP CONSTRAINT staff_act_kinds, ADD CONSTRAINT staff_act_kinds CHECK (kind IN
  ('adjustment', 'refund', 'exception', 'transfer', 'provider', 'write-off', 'recovery', 'period',
    'breakage', 'revaluation'));
