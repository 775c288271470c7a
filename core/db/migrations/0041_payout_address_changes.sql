-- Why: a thief of a session or a key could send the earnings of a provider to a wallet of their own. A
-- changed address needs a signature of the current wallet, or an administrator and a longer wait.

ALTER TABLE hub.challenge DROP CONSTRAINT challenge_purpose_check,
  ADD CONSTRAINT challenge_purpose_check
    CHECK (purpose IN ('register', 'link', 'transfer', 'payout', 'payout-change'));

-- A change that the new wallet has signed for, and that is not authorized yet. It changes nothing.
CREATE TABLE hub.payout_address_request (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  provider text NOT NULL REFERENCES hub.provider,
  address hub.address NOT NULL,
  requested_by text NOT NULL REFERENCES hub.principal,
  nonce text NOT NULL UNIQUE,            -- of the challenge that the new wallet signed
  requested_at timestamptz NOT NULL DEFAULT now(),
  closed_at timestamptz                  -- authorized, canceled or replaced
);
CREATE UNIQUE INDEX payout_address_request_open ON hub.payout_address_request (provider)
  WHERE closed_at IS NULL;
GRANT SELECT, INSERT (provider, address, requested_by, nonce), UPDATE (closed_at)
  ON hub.payout_address_request TO hub_app;

ALTER TABLE hub.payout_address
  ADD COLUMN request bigint REFERENCES hub.payout_address_request, -- null: the first address of an owner
  ADD COLUMN change_nonce text UNIQUE,                              -- that the current wallet signed
  ADD COLUMN recoverer text REFERENCES hub.principal;               -- administrator, instead of a signature
GRANT INSERT ON hub.payout_address TO hub_app;

-- An owner who has an address gets another one only by a request, and by a signature of the current wallet or
-- an administrator whose own earnings these are not.
CREATE FUNCTION hub.admit_payout_address() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  present text := (SELECT d.address FROM hub.payout_destination d WHERE d.provider = NEW.provider);
BEGIN
  IF present IS NULL OR present = NEW.address THEN RETURN NEW; END IF;
  IF NOT EXISTS (SELECT FROM hub.payout_address_request r WHERE r.id = NEW.request
      AND r.closed_at IS NULL AND r.provider = NEW.provider AND r.address = NEW.address) THEN
    RAISE EXCEPTION 'the change of a payout address was not requested' USING ERRCODE = 'check_violation';
  END IF;
  IF NEW.recoverer IS NULL AND NOT EXISTS (SELECT FROM hub.challenge c WHERE c.nonce = NEW.change_nonce
      AND c.purpose = 'payout-change' AND c.used_at IS NOT NULL AND c.wallet_address = present
      AND c.terms ->> 'provider' = NEW.provider AND c.terms ->> 'request' = NEW.request::text)
    OR hub.own_subject(NEW.recoverer, ARRAY['liabilities:providers:' || NEW.provider || ':']) IS NOT NULL
  THEN
    RAISE EXCEPTION 'the change of a payout address is not authorized' USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER admit BEFORE INSERT ON hub.payout_address
  FOR EACH ROW EXECUTE FUNCTION hub.admit_payout_address();

CREATE OR REPLACE FUNCTION hub.keep_payout_address() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' OR OLD.withdrawn_at IS NOT NULL OR OLD.effective_at <= now() OR
      (NEW.id, NEW.provider, NEW.address, NEW.set_by, NEW.nonce, NEW.set_at, NEW.effective_at,
        NEW.request, NEW.change_nonce, NEW.recoverer)
      IS DISTINCT FROM (OLD.id, OLD.provider, OLD.address, OLD.set_by, OLD.nonce, OLD.set_at,
        OLD.effective_at, OLD.request, OLD.change_nonce, OLD.recoverer) THEN
    RAISE EXCEPTION 'payout address % stays as it is', OLD.id USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END $$;
