-- A call may buy several pages of a domain; the owner sees the earnings of each. The owner is notified
-- of a page whose text is doubtful, once a week.
-- upgrade: expand
ALTER TABLE hub.page_call
  -- Of a batch: [{url, cached, charged, before}], in microdollars; null: the one page of the row.
  ADD pages jsonb CHECK (jsonb_typeof(pages) = 'array');
GRANT UPDATE (url, cached, pages) ON hub.page_call TO hub_app;

ALTER TABLE hub.domain
  ADD previewed_at timestamptz,
  ADD doubtful_url text CHECK (length(doubtful_url) <= 2048),
  ADD doubtful_confidence real CHECK (doubtful_confidence BETWEEN 0 AND 1),
  ADD doubtful_at timestamptz,
  ADD CHECK (num_nulls(doubtful_url, doubtful_confidence, doubtful_at) IN (0, 3));
