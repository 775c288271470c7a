-- Why: a sub-key shared the idempotency keys and purchase names of its main key, so it could read the
-- response of a call that it may not make, and its refused calls used up names. Each sub-key now has names of
-- its own. Names from before this migration stay shared, so that a repeated request is not charged twice.

CREATE TABLE hub.sub_key_naming (
  single boolean PRIMARY KEY DEFAULT true CHECK (single),
  since timestamptz NOT NULL DEFAULT now()
);
INSERT INTO hub.sub_key_naming DEFAULT VALUES;
GRANT SELECT ON hub.sub_key_naming TO hub_app;

-- Assigns an id to a name of a sub-key, as ledger.claim_key does for a main key. An older request with the
-- same name and inputs has its old id, unless another key is known to have made it.
CREATE FUNCTION hub.claim_sub_key_name(
  p_owner bigint, p_sub_key text, p_name text, p_inputs text, p_id uuid,
  OUT id uuid, OUT outcome smallint
) LANGUAGE plpgsql SET search_path = hub, ledger, pg_temp AS $$
#variable_conflict use_column
BEGIN
  SELECT i.id, 2 INTO claim_sub_key_name.id, outcome FROM ledger.idempotency i, hub.sub_key_naming n
    WHERE i.owner = p_owner AND i.key = sha256(convert_to(p_name, 'UTF8'))
      AND i.inputs = sha256(convert_to(p_inputs, 'UTF8')) AND i.at < n.since
      AND NOT EXISTS (SELECT FROM hub.idempotent_call a JOIN hub.call c ON c.id = a.call
        WHERE a.id = i.id AND c.key_id IS DISTINCT FROM p_sub_key);
  IF FOUND THEN RETURN; END IF;
  SELECT c.id, c.outcome INTO claim_sub_key_name.id, outcome
    FROM ledger.claim_key(p_owner, p_sub_key || ' ' || p_name, p_inputs, p_id) c;
END $$;
REVOKE EXECUTE ON FUNCTION hub.claim_sub_key_name FROM PUBLIC;
GRANT EXECUTE ON FUNCTION hub.claim_sub_key_name TO hub_app;
