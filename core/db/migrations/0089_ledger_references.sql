-- upgrade: expand
-- The ledger's tables can be distributed by shard (Citus) while those of hub stay on one node; no foreign key
-- can cross that boundary. `ledger verify` reports references without their target
-- (core/ledger/verify/references.ts). Accounts, shards and entries are never deleted.
ALTER TABLE hub.api_key DROP CONSTRAINT api_key_credits_fkey;
ALTER TABLE hub.credit_watch DROP CONSTRAINT credit_watch_account_fkey;
ALTER TABLE hub.cursor DROP CONSTRAINT cursor_shard_fkey;
ALTER TABLE hub.earning DROP CONSTRAINT earning_account_fkey;
ALTER TABLE hub.low_balance DROP CONSTRAINT low_balance_account_fkey;
ALTER TABLE hub.low_balance_threshold DROP CONSTRAINT low_balance_threshold_account_fkey;
ALTER TABLE hub.open_hold DROP CONSTRAINT open_hold_owner_fkey;
ALTER TABLE hub.payment_intent DROP CONSTRAINT payment_intent_owner_fkey;
ALTER TABLE hub.payout DROP CONSTRAINT payout_shard_fkey;
ALTER TABLE hub.payout_part
  DROP CONSTRAINT payout_part_account_fkey,
  DROP CONSTRAINT payout_part_account_entry_phase_fkey;
ALTER TABLE hub.principal DROP CONSTRAINT principal_shard_fkey;
ALTER TABLE hub.reconciliation_exception
  DROP CONSTRAINT reconciliation_exception_answer_fkey,
  DROP CONSTRAINT reconciliation_exception_answer_answer_id_answer_phase_fkey;
ALTER TABLE hub.wallet_entry DROP CONSTRAINT wallet_entry_owner_entry_phase_fkey;
