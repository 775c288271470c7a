-- Why: a wallet finds the calls that it paid by x402 without a key. Only such calls are in this index.
CREATE INDEX call_keyless ON hub.call (principal, at) WHERE key_id IS NULL;
