-- Why: a payment that its payer was told had failed may still be brought on chain by others, after the payer
-- paid again. It is a deposit of its payer then: credits of their key, or suspense until the wallet has one.

ALTER TABLE hub.payment_claim ADD COLUMN deposited boolean NOT NULL DEFAULT false;

CREATE TABLE hub.wallet_deposit (
  id uuid PRIMARY KEY REFERENCES hub.payment_claim (id), -- also of its entry
  wallet text NOT NULL CHECK (wallet ~ '^0x[0-9a-f]{40}$'),
  amount bigint NOT NULL CHECK (amount > 0), -- microdollars
  credited_to text,      -- key; null: in suspense
  is_suspended boolean NOT NULL, -- true: its entry is in suspense; crediting is a second entry
  credited_at timestamptz,
  at timestamptz NOT NULL DEFAULT now(),
  CHECK (credited_to IS NOT NULL OR is_suspended),
  CHECK (credited_at IS NULL OR credited_to IS NOT NULL)
);
CREATE INDEX wallet_deposit_open ON hub.wallet_deposit (at) WHERE credited_at IS NULL;
GRANT SELECT, INSERT, UPDATE (credited_to, credited_at) ON hub.wallet_deposit TO hub_app;
