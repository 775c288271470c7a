-- Why: a change is acted on with the current facts of its tender, and searched by its CPV codes.

ALTER TABLE change
  ADD COLUMN tender text,                              -- id of the tender; null if it is not published
  ADD COLUMN cpv text[] NOT NULL DEFAULT '{}';         -- codes of the tender, and their prefixes
UPDATE change SET (tender, cpv) = (t.id, t.cpv)
  FROM tender t, change_item i WHERE t.family = change.family AND i.id = change.id
    AND t.numbers @> ARRAY[i.item #>> '{evidence,source_publication_number}'];
CREATE INDEX change_cpv ON change USING gin (cpv);
