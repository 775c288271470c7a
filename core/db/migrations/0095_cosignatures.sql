-- upgrade: expand
-- Why: witnesses (C2SP tlog-witness) cosign the root over the checkpoints of all shards, so that a reader
-- need not trust the hub alone that it shows everybody the same ledger.

-- Cosignatures of signed roots: one line of a C2SP signed note each.
CREATE TABLE ledger.cosignature (
  size bigint NOT NULL REFERENCES ledger.heads_checkpoint (size),
  witness text NOT NULL CHECK (length(witness) <= 300), -- verifier key
  line text NOT NULL CHECK (length(line) <= 400 AND line ~ '\A— [^\n]+\n\Z'),
  PRIMARY KEY (size, witness)
);
CREATE INDEX cosignature_by_witness ON ledger.cosignature (witness, size);

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON ledger.cosignature FOR EACH ROW
  EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON ledger.cosignature FOR EACH STATEMENT
  EXECUTE FUNCTION ledger.refuse_change();

-- Stores a cosignature, or does nothing if the witness has one of that size.
CREATE FUNCTION ledger.add_cosignature(p_size bigint, p_witness text, p_line text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
  INSERT INTO cosignature (size, witness, line) VALUES (p_size, p_witness, p_line) ON CONFLICT DO NOTHING
$$;

REVOKE EXECUTE ON FUNCTION ledger.add_cosignature FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.add_cosignature TO hub_app;
GRANT SELECT ON ledger.cosignature TO hub_app;
