-- upgrade: expand
-- Why: one transaction that held the row of all documents, with which changes of words wait for each
-- other, could wait for a new word of another one that waited for that row. The row is locked first.
CREATE OR REPLACE FUNCTION hub.search_post(p_docs integer[], p_sign integer) RETURNS void
LANGUAGE plpgsql SET search_path = hub, pg_catalog AS $$
BEGIN
  IF p_docs IS NULL THEN RETURN; END IF;
  PERFORM FROM search_term WHERE term = '' FOR UPDATE;
  IF p_sign > 0 THEN
    INSERT INTO search_posting SELECT i.term, i.impact, e.doc
      FROM search_entry e CROSS JOIN LATERAL hub.search_impacts(e.vector) i WHERE e.doc = ANY (p_docs);
  ELSE
    DELETE FROM search_posting p USING search_entry e CROSS JOIN LATERAL hub.search_impacts(e.vector) i
      WHERE e.doc = ANY (p_docs) AND (p.term, p.impact, p.doc) = (i.term COLLATE "C", i.impact, e.doc);
  END IF;
  INSERT INTO search_term AS t (term, documents)
    SELECT term, 0 FROM (SELECT unnest(tsvector_to_array(vector)) COLLATE "C" AS term
      FROM search_entry WHERE doc = ANY (p_docs)) word GROUP BY term ORDER BY term
    ON CONFLICT (term) DO NOTHING;
  UPDATE search_term t SET documents = t.documents + p_sign * c.documents, version = search_version()
    FROM (SELECT l.term, n.documents FROM (SELECT term, count(*)::integer AS documents FROM (
          SELECT unnest(tsvector_to_array(vector) || ''::text) COLLATE "C" AS term
          FROM search_entry WHERE doc = ANY (p_docs)) word GROUP BY term) n
        JOIN search_term l ON l.term = n.term ORDER BY l.term FOR UPDATE OF l) c
    WHERE t.term = c.term;
END $$;
