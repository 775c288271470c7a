-- upgrade: expand
-- Client credentials (OAuth2) of an imported API: id, secret and token endpoint, sealed as one value.
-- Servers of the previous version send no token, so that their calls of such an API fail.
ALTER TABLE hub.upstream_secret
  DROP CONSTRAINT upstream_secret_place_check,
  ADD CONSTRAINT upstream_secret_place_check CHECK (place IN ('header', 'query', 'oauth2'));
