-- upgrade: expand
-- Input of a passed test call, shown to buyers as the sample of the endpoint.
ALTER TABLE hub.endpoint_test ADD input jsonb CHECK (octet_length(input::text) <= 20000);
