-- Why: a page that a caller has already is confirmed instead of sold again, what a site has for sale is
-- listed from its sitemaps, and owners are notified of pages whose text is doubtful.

ALTER TABLE page
  ADD COLUMN etag text NOT NULL DEFAULT '',                      -- of the article
  ADD COLUMN changed_at timestamptz NOT NULL DEFAULT now(),      -- first read with this etag
  ADD COLUMN doubtful boolean NOT NULL DEFAULT false;            -- of low confidence

-- The last reading of the sitemaps of a domain.
CREATE TABLE sitemap (
  domain text PRIMARY KEY,
  problem text CHECK (length(problem) <= 200), -- why it is incomplete
  read_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE sitemap_page (
  domain text NOT NULL REFERENCES sitemap ON DELETE CASCADE,
  url text NOT NULL CHECK (length(url) <= 2048),
  modified text CHECK (length(modified) <= 40), -- as its sitemap says
  PRIMARY KEY (domain, url)
);
