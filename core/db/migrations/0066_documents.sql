-- Why: receipts, statements and credit notes that serve for tax need numbers without gaps and the names of
-- both parties as they were, and never change.

CREATE TABLE hub.billing_party (
  principal text PRIMARY KEY REFERENCES hub.principal (id),
  legal_name text NOT NULL CHECK (length(legal_name) BETWEEN 1 AND 200),
  email text NOT NULL CHECK (length(email) BETWEEN 3 AND 254),
  address text CHECK (length(address) BETWEEN 1 AND 500),
  country text NOT NULL CHECK (country ~ '^[A-Z]{2}$'),
  registration text CHECK (length(registration) BETWEEN 1 AND 60),
  tax_id text CHECK (length(tax_id) BETWEEN 1 AND 60),
  changed_at timestamptz NOT NULL DEFAULT now()
);
GRANT SELECT, INSERT, UPDATE ON hub.billing_party TO hub_app;

-- Each number but the first of a series requires the one before it, and nothing is ever deleted. Thus a
-- series never has gaps.
CREATE TABLE hub.document (
  series text NOT NULL CHECK (series ~ '^[A-Z]{3}-20\d\d$'),
  number bigint NOT NULL CHECK (number > 0),
  previous bigint GENERATED ALWAYS AS (nullif(number - 1, 0)) STORED,
  kind text NOT NULL CHECK (kind IN ('purchase', 'call', 'statement', 'commission', 'credit-note')),
  subject text NOT NULL,
  principal text NOT NULL REFERENCES hub.principal (id),
  issued_at timestamptz NOT NULL,
  content jsonb NOT NULL,
  PRIMARY KEY (series, number),
  UNIQUE (kind, subject),
  FOREIGN KEY (series, previous) REFERENCES hub.document (series, number),
  CONSTRAINT document_totals CHECK ((content #>> '{totals,gross_microdollars}')::bigint
    = (content #>> '{totals,net_microdollars}')::bigint + (content #>> '{totals,tax_microdollars}')::bigint)
);
CREATE INDEX document_principal ON hub.document (principal, issued_at DESC);
SELECT ledger.protect('hub.document');
GRANT SELECT ON hub.document TO hub_app;

-- Issues the document of a subject once, under the next number of the series of its year. Its lines must add
-- up to its totals.
CREATE FUNCTION hub.issue_document(
  p_prefix text, p_kind text, p_subject text, p_principal text, p_content jsonb
) RETURNS SETOF hub.document LANGUAGE plpgsql SECURITY DEFINER SET search_path = hub, pg_temp AS $$
DECLARE
  instant timestamptz;
  name text;
  wrong text;
BEGIN
  SELECT u.total INTO wrong FROM unnest('{net,tax,gross}'::text[]) u(total)
    WHERE (p_content #>> ARRAY['totals', u.total || '_microdollars'])::bigint IS DISTINCT FROM
      (SELECT sum((l ->> (u.total || '_microdollars'))::bigint)
       FROM jsonb_array_elements(p_content -> 'lines') l);
  IF FOUND THEN
    RAISE EXCEPTION 'the lines of a document do not add up: %', wrong USING ERRCODE = 'check_violation';
  END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended('hub.document ' || p_prefix, 0));
  RETURN QUERY SELECT * FROM document d WHERE d.kind = p_kind AND d.subject = p_subject;
  IF FOUND THEN RETURN; END IF;
  instant := clock_timestamp();
  name := p_prefix || '-' || to_char(instant AT TIME ZONE 'UTC', 'YYYY');
  RETURN QUERY INSERT INTO document (series, number, kind, subject, principal, issued_at, content)
    SELECT name, coalesce(max(d.number), 0) + 1, p_kind, p_subject, p_principal, instant, p_content
    FROM document d WHERE d.series = name RETURNING *;
END $$;
REVOKE EXECUTE ON FUNCTION hub.issue_document FROM PUBLIC;
GRANT EXECUTE ON FUNCTION hub.issue_document TO hub_app;
