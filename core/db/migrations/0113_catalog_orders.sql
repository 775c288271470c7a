-- upgrade: expand
-- Why: each order of the catalog is read from an index, on the last page as on the first. All are ascending,
-- so that one row comparison finds the page after a document; those without a measurement come last.
CREATE INDEX search_document_price ON hub.search_document (price, kind, id);
CREATE INDEX search_document_latency ON hub.search_document (coalesce(p95_ms, 2147483647), kind, id);
CREATE INDEX search_document_uptime ON hub.search_document ((-coalesce(uptime, (-1)::real)), kind, id);
CREATE INDEX search_document_calls ON hub.search_document ((-calls), kind, id);
