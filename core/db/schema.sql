-- The schema that core/db/migrations make, for reading and for review. Not for loading.
-- Written by "npm run db:dump". Monthly partitions are left out: it is the same every month.

CREATE SCHEMA hub;
GRANT USAGE ON SCHEMA hub TO hub_app;

CREATE DOMAIN hub.address AS text
  CONSTRAINT address_check CHECK ((VALUE ~ '^0x[0-9a-f]{40}$'::text));

CREATE DOMAIN hub.hash AS text
  CONSTRAINT hash_check CHECK ((VALUE ~ '^0x[0-9a-f]{64}$'::text));

CREATE TYPE hub.payout_rules AS (
  provider_cap bigint,
  platform_cap bigint,
  alone bigint,
  first_hours integer,
  credit_hours integer
);

CREATE TYPE hub.search_filter AS (
  kind text,
  category text,
  tag text,
  network text,
  max_price bigint
);

CREATE TYPE hub.seller_figures AS (
  calls integer,
  delivered integer,
  payers integer,
  trust real,
  success real,
  rejected integer,
  paid_ms integer
);

CREATE DOMAIN hub.wallet AS text
  CONSTRAINT wallet_check CHECK (((VALUE = ANY (ARRAY['treasury'::text, 'spend'::text])) OR (VALUE ~ '^treasury:[a-z0-9-]{1,40}$'::text)));

CREATE TABLE hub.abandoned_attempt (
  call uuid NOT NULL,
  request uuid NOT NULL,
  at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT abandoned_attempt_pkey PRIMARY KEY (call)
);
CREATE INDEX abandoned_attempt_request ON hub.abandoned_attempt USING btree (request);
GRANT DELETE, INSERT, SELECT ON hub.abandoned_attempt TO hub_app;

CREATE TABLE hub.activity (
  id uuid NOT NULL,
  principal text NOT NULL,
  at timestamp with time zone DEFAULT date_trunc('milliseconds'::text, clock_timestamp()) NOT NULL,
  author text NOT NULL,
  via text NOT NULL,
  network text NOT NULL,
  act text NOT NULL,
  subject text NOT NULL,
  details jsonb NOT NULL,
  CONSTRAINT activity_pkey PRIMARY KEY (id),
  CONSTRAINT activity_act_check CHECK ((act ~ '^[a-z]+\.[a-z]+$'::text)),
  CONSTRAINT activity_author_check CHECK ((author <> ''::text)),
  CONSTRAINT activity_details_check CHECK ((jsonb_typeof(details) = 'object'::text)),
  CONSTRAINT activity_principal_fkey FOREIGN KEY (principal) REFERENCES hub.principal(id),
  CONSTRAINT activity_subject_check CHECK ((length(subject) <= 100)),
  CONSTRAINT activity_via_check CHECK ((via <> ''::text))
);
CREATE INDEX activity_principal ON hub.activity USING btree (principal, at, id);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON hub.activity FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON hub.activity FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
GRANT INSERT, SELECT ON hub.activity TO hub_app;

CREATE TABLE hub.allowance_excess (
  key_id text NOT NULL,
  span text NOT NULL,
  units bigint NOT NULL,
  since timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT allowance_excess_pkey PRIMARY KEY (key_id, span),
  CONSTRAINT allowance_excess_key_id_fkey FOREIGN KEY (key_id) REFERENCES hub.api_key(id),
  CONSTRAINT allowance_excess_units_check CHECK ((units > 0))
);
GRANT DELETE, INSERT, SELECT, UPDATE ON hub.allowance_excess TO hub_app;

CREATE TABLE hub.api_key (
  id text NOT NULL,
  principal text NOT NULL,
  parent text,
  depth smallint DEFAULT 0 NOT NULL,
  credits bigint,
  name text,
  max_call bigint,
  max_day bigint,
  max_total bigint,
  services text[],
  expires_at timestamp with time zone,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  used_at timestamp with time zone,
  revoked_at timestamp with time zone,
  rate_per_minute integer,
  frozen_at timestamp with time zone,
  frozen_by text,
  frozen_reason text,
  role text DEFAULT 'agent'::text NOT NULL,
  signed_at timestamp with time zone,
  sees_main_key boolean DEFAULT false NOT NULL,
  owner_frozen_at timestamp with time zone,
  owner_frozen_reason text,
  CONSTRAINT api_key_pkey PRIMARY KEY (id),
  CONSTRAINT api_key_check CHECK ((((depth >= 0) AND (depth <= 4)) AND ((depth = 0) = (parent IS NULL)))),
  CONSTRAINT api_key_frozen CHECK ((num_nulls(frozen_at, frozen_by, frozen_reason) = ANY (ARRAY[0, 3]))),
  CONSTRAINT api_key_frozen_by_check CHECK ((frozen_by = ANY (ARRAY['owner'::text, 'administrator'::text]))),
  CONSTRAINT api_key_frozen_reason_check CHECK (((length(frozen_reason) >= 1) AND (length(frozen_reason) <= 200))),
  CONSTRAINT api_key_id_check CHECK ((id ~ '^key_[0-9A-Za-z]{16}$'::text)),
  CONSTRAINT api_key_max_call_check CHECK ((max_call > 0)),
  CONSTRAINT api_key_max_day_check CHECK ((max_day > 0)),
  CONSTRAINT api_key_max_total_check CHECK ((max_total > 0)),
  CONSTRAINT api_key_name_check CHECK (((length(name) >= 1) AND (length(name) <= 100))),
  CONSTRAINT api_key_owner_freeze CHECK ((num_nulls(owner_frozen_at, owner_frozen_reason) = ANY (ARRAY[0, 2]))),
  CONSTRAINT api_key_owner_frozen_reason_check CHECK (((length(owner_frozen_reason) >= 1) AND (length(owner_frozen_reason) <= 200))),
  CONSTRAINT api_key_parent_fkey FOREIGN KEY (parent) REFERENCES hub.api_key(id),
  CONSTRAINT api_key_principal_fkey FOREIGN KEY (principal) REFERENCES hub.principal(id),
  CONSTRAINT api_key_rate CHECK (((rate_per_minute IS NULL) OR (parent IS NULL))),
  CONSTRAINT api_key_rate_per_minute_check CHECK (((rate_per_minute >= 1) AND (rate_per_minute <= 1000000))),
  CONSTRAINT api_key_role CHECK ((((role = 'agent'::text) = (credits IS NOT NULL)) AND ((role = 'agent'::text) OR (num_nonnulls(max_call, max_day, max_total, services, rate_per_minute) = 0)))),
  CONSTRAINT api_key_role_check CHECK ((role = ANY (ARRAY['agent'::text, 'provider'::text]))),
  CONSTRAINT api_key_services_check CHECK (((cardinality(services) >= 1) AND (cardinality(services) <= 100)))
);
CREATE INDEX api_key_parent ON hub.api_key USING btree (parent);
CREATE INDEX api_key_principal ON hub.api_key USING btree (principal, id);
CREATE UNIQUE INDEX api_key_root ON hub.api_key USING btree (credits) WHERE (parent IS NULL);
GRANT INSERT, SELECT, UPDATE ON hub.api_key TO hub_app;

CREATE TABLE hub.audit (
  seq bigint NOT NULL,
  at timestamp with time zone NOT NULL,
  name text NOT NULL,
  principal text,
  via text,
  role text NOT NULL,
  act text NOT NULL,
  subject text NOT NULL,
  before jsonb,
  after jsonb,
  reason text NOT NULL,
  request text,
  network text,
  prev bytea NOT NULL,
  hash bytea NOT NULL,
  CONSTRAINT audit_pkey PRIMARY KEY (seq),
  CONSTRAINT audit_act_check CHECK ((act ~ '^[a-z]+(_[a-z]+)*\.[a-z]+(_[a-z]+)*$'::text)),
  CONSTRAINT audit_hash_check CHECK ((length(hash) = 32)),
  CONSTRAINT audit_name_check CHECK ((name <> ''::text)),
  CONSTRAINT audit_prev_check CHECK ((length(prev) = 32)),
  CONSTRAINT audit_principal_fkey FOREIGN KEY (principal) REFERENCES hub.principal(id),
  CONSTRAINT audit_reason_check CHECK (((length(TRIM(BOTH FROM reason)) >= 1) AND (length(TRIM(BOTH FROM reason)) <= 500))),
  CONSTRAINT audit_role_check CHECK ((role = ANY (ARRAY['admin'::text, 'finance'::text, 'auditor'::text, 'operator'::text]))),
  CONSTRAINT audit_seq_check CHECK ((seq > 0)),
  CONSTRAINT audit_subject_check CHECK ((subject <> ''::text))
);
CREATE INDEX audit_act ON hub.audit USING btree (act, seq);
CREATE INDEX audit_name ON hub.audit USING btree (name, seq);
CREATE INDEX audit_subject ON hub.audit USING btree (subject, seq);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON hub.audit FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON hub.audit FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
GRANT SELECT ON hub.audit TO hub_app;

CREATE TABLE hub.backup_run (
  kind text NOT NULL,
  succeeded_at timestamp with time zone NOT NULL,
  name text NOT NULL,
  bytes bigint NOT NULL,
  CONSTRAINT backup_run_pkey PRIMARY KEY (kind),
  CONSTRAINT backup_run_bytes_check CHECK ((bytes >= 0)),
  CONSTRAINT backup_run_kind_check CHECK ((kind = ANY (ARRAY['backup'::text, 'drill'::text]))),
  CONSTRAINT backup_run_name_check CHECK (((length(name) >= 1) AND (length(name) <= 100)))
);
GRANT SELECT ON hub.backup_run TO hub_app;

CREATE TABLE hub.balance_subscription (
  person text NOT NULL,
  since timestamp with time zone DEFAULT now() NOT NULL,
  token uuid DEFAULT gen_random_uuid() NOT NULL,
  CONSTRAINT balance_subscription_pkey PRIMARY KEY (person),
  CONSTRAINT balance_subscription_person_fkey FOREIGN KEY (person) REFERENCES hub.person(principal),
  CONSTRAINT balance_subscription_token_key UNIQUE (token)
);
GRANT DELETE, INSERT, SELECT ON hub.balance_subscription TO hub_app;

CREATE TABLE hub.billing_party (
  principal text NOT NULL,
  legal_name text NOT NULL,
  email text NOT NULL,
  address text,
  country text NOT NULL,
  registration text,
  tax_id text,
  changed_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT billing_party_pkey PRIMARY KEY (principal),
  CONSTRAINT billing_party_address_check CHECK (((length(address) >= 1) AND (length(address) <= 500))),
  CONSTRAINT billing_party_country_check CHECK ((country ~ '^[A-Z]{2}$'::text)),
  CONSTRAINT billing_party_email_check CHECK (((length(email) >= 3) AND (length(email) <= 254))),
  CONSTRAINT billing_party_legal_name_check CHECK (((length(legal_name) >= 1) AND (length(legal_name) <= 200))),
  CONSTRAINT billing_party_principal_fkey FOREIGN KEY (principal) REFERENCES hub.principal(id),
  CONSTRAINT billing_party_registration_check CHECK (((length(registration) >= 1) AND (length(registration) <= 60))),
  CONSTRAINT billing_party_tax_id_check CHECK (((length(tax_id) >= 1) AND (length(tax_id) <= 60)))
);
GRANT INSERT, SELECT, UPDATE ON hub.billing_party TO hub_app;

CREATE TABLE hub.call (
  id uuid NOT NULL,
  at timestamp with time zone NOT NULL,
  request_id text NOT NULL,
  principal text NOT NULL,
  key_id text,
  service text NOT NULL,
  endpoint integer NOT NULL,
  price_version integer NOT NULL,
  source text NOT NULL,
  charged bigint NOT NULL,
  outcome text NOT NULL,
  status smallint NOT NULL,
  latency_ms integer NOT NULL,
  reason text,
  request_hash bytea,
  response_hash bytea,
  entry uuid,
  unit text,
  quantity bigint,
  unit_amount bigint,
  unit_per bigint,
  agent text,
  CONSTRAINT call_pkey PRIMARY KEY (id),
  CONSTRAINT call_agent_check CHECK (((length(agent) >= 1) AND (length(agent) <= 253))),
  CONSTRAINT call_charged_check CHECK ((charged >= 0)),
  CONSTRAINT call_latency_ms_check CHECK ((latency_ms >= 0)),
  CONSTRAINT call_metered CHECK (((num_nulls(unit, quantity, unit_amount, unit_per) = ANY (ARRAY[0, 4])) AND ((quantity IS NULL) OR (source = 'x402'::text) OR ((charged)::numeric <= ceil((((quantity)::numeric * (unit_amount)::numeric) / (unit_per)::numeric)))))),
  CONSTRAINT call_outcome_check CHECK ((outcome = ANY (ARRAY['delivered'::text, 'failed'::text, 'unresolved'::text, 'taken'::text]))),
  CONSTRAINT call_quantity_check CHECK ((quantity >= 0)),
  CONSTRAINT call_source_check CHECK ((source = ANY (ARRAY['free'::text, 'credits'::text, 'x402'::text, 'none'::text])))
) PARTITION BY RANGE (id);
CREATE INDEX call_entry ON ONLY hub.call USING btree (entry) WHERE (entry <> id);
CREATE INDEX call_key ON ONLY hub.call USING btree (key_id, at);
CREATE INDEX call_keyless ON ONLY hub.call USING btree (principal, at) WHERE (key_id IS NULL);
CREATE INDEX call_service ON ONLY hub.call USING btree (service, at);
CREATE INDEX call_usage ON ONLY hub.call USING btree (service, at) WHERE (quantity IS NOT NULL);
CREATE TRIGGER calls_added AFTER INSERT ON hub.call REFERENCING NEW TABLE AS counted FOR EACH STATEMENT EXECUTE FUNCTION hub.count_calls('1');
CREATE TRIGGER calls_changed AFTER UPDATE ON hub.call REFERENCING NEW TABLE AS counted FOR EACH STATEMENT EXECUTE FUNCTION hub.count_calls('1');
CREATE TRIGGER calls_replaced AFTER UPDATE ON hub.call REFERENCING OLD TABLE AS counted FOR EACH STATEMENT EXECUTE FUNCTION hub.count_calls('-1');
GRANT INSERT, SELECT ON hub.call TO hub_app;
GRANT UPDATE ON hub.call(charged) TO hub_app;
GRANT UPDATE ON hub.call(outcome) TO hub_app;

CREATE TABLE hub.caller_day (
  service text NOT NULL,
  day date NOT NULL,
  principal text NOT NULL,
  calls integer NOT NULL,
  delivered integer NOT NULL,
  charged bigint NOT NULL,
  first_at timestamp with time zone NOT NULL,
  last_at timestamp with time zone NOT NULL,
  up integer DEFAULT 0 NOT NULL,
  CONSTRAINT caller_day_pkey PRIMARY KEY (service, day, principal)
);
GRANT SELECT ON hub.caller_day TO hub_app;

CREATE TABLE hub.caller_week (
  service text NOT NULL,
  week date NOT NULL,
  principal text NOT NULL,
  calls integer NOT NULL,
  delivered integer NOT NULL,
  charged bigint NOT NULL,
  first_at timestamp with time zone NOT NULL,
  last_at timestamp with time zone NOT NULL,
  CONSTRAINT caller_week_pkey PRIMARY KEY (service, week, principal),
  CONSTRAINT caller_week_week_check CHECK ((EXTRACT(isodow FROM week) = (1)::numeric))
);
GRANT SELECT ON hub.caller_week TO hub_app;

CREATE TABLE hub.challenge (
  nonce text NOT NULL,
  message text NOT NULL,
  wallet_address text,
  expires_at timestamp with time zone NOT NULL,
  used_at timestamp with time zone,
  purpose text DEFAULT 'register'::text NOT NULL,
  terms jsonb,
  CONSTRAINT challenge_pkey PRIMARY KEY (nonce),
  CONSTRAINT challenge_nonce_check CHECK ((length(nonce) >= 16)),
  CONSTRAINT challenge_purpose_check CHECK ((purpose = ANY (ARRAY['register'::text, 'link'::text, 'transfer'::text, 'payout'::text, 'payout-change'::text, 'sign-in'::text]))) NOT VALID,
  CONSTRAINT challenge_terms CHECK (((purpose = 'register'::text) = (terms IS NULL))),
  CONSTRAINT challenge_wallet_address_check CHECK ((wallet_address ~ '^0x[0-9a-f]{40}$'::text))
);
CREATE INDEX challenge_expiry ON hub.challenge USING btree (expires_at);
GRANT DELETE, INSERT, SELECT, UPDATE ON hub.challenge TO hub_app;

CREATE TABLE hub.commission_rounding (
  since timestamp with time zone DEFAULT now() NOT NULL,
  only_row boolean DEFAULT true NOT NULL,
  CONSTRAINT commission_rounding_pkey PRIMARY KEY (only_row),
  CONSTRAINT commission_rounding_only_row_check CHECK (only_row)
);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON hub.commission_rounding FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON hub.commission_rounding FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
GRANT SELECT ON hub.commission_rounding TO hub_app;

CREATE TABLE hub.commission_rule (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  provider text NOT NULL,
  service text,
  bps smallint,
  effective_from timestamp with time zone NOT NULL,
  author text NOT NULL,
  reason text NOT NULL,
  set_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT commission_rule_pkey PRIMARY KEY (id),
  CONSTRAINT commission_rule_author_check CHECK (((length(TRIM(BOTH FROM author)) >= 1) AND (length(TRIM(BOTH FROM author)) <= 200))),
  CONSTRAINT commission_rule_bps_check CHECK (((bps >= 0) AND (bps <= 10000))),
  CONSTRAINT commission_rule_check CHECK ((effective_from >= set_at)),
  CONSTRAINT commission_rule_provider_fkey FOREIGN KEY (provider) REFERENCES hub.provider(id),
  CONSTRAINT commission_rule_reason_check CHECK (((length(TRIM(BOTH FROM reason)) >= 1) AND (length(TRIM(BOTH FROM reason)) <= 1000))),
  CONSTRAINT commission_rule_service_fkey FOREIGN KEY (service) REFERENCES hub.service(slug)
);
CREATE INDEX commission_rule_order ON hub.commission_rule USING btree (provider, service, effective_from, id);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON hub.commission_rule FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON hub.commission_rule FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
GRANT INSERT, SELECT ON hub.commission_rule TO hub_app;

CREATE TABLE hub.content_version (
  subject text NOT NULL,
  version integer NOT NULL,
  content jsonb,
  state text DEFAULT 'waiting'::text NOT NULL,
  held text[] DEFAULT '{}'::text[] NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  decided_at timestamp with time zone,
  reason text,
  CONSTRAINT content_version_pkey PRIMARY KEY (subject, version),
  CONSTRAINT content_version_check CHECK (((state = 'waiting'::text) = (decided_at IS NULL))),
  CONSTRAINT content_version_check1 CHECK (((state = 'refused'::text) = (reason IS NOT NULL))),
  CONSTRAINT content_version_check2 CHECK (((content IS NOT NULL) OR (state <> ALL (ARRAY['waiting'::text, 'approved'::text])))),
  CONSTRAINT content_version_content_check CHECK ((jsonb_typeof(content) = 'object'::text)),
  CONSTRAINT content_version_reason_check CHECK (((length(reason) >= 1) AND (length(reason) <= 500))),
  CONSTRAINT content_version_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'approved'::text, 'replaced'::text, 'refused'::text, 'withdrawn'::text]))),
  CONSTRAINT content_version_version_check CHECK ((version > 0))
);
CREATE UNIQUE INDEX content_version_approved ON hub.content_version USING btree (subject) WHERE (state = 'approved'::text);
CREATE UNIQUE INDEX content_version_waiting ON hub.content_version USING btree (subject) WHERE (state = 'waiting'::text);
CREATE TRIGGER content_version_step BEFORE UPDATE ON hub.content_version FOR EACH ROW EXECUTE FUNCTION hub.content_version_step();
GRANT INSERT, SELECT ON hub.content_version TO hub_app;
GRANT UPDATE ON hub.content_version(content) TO hub_app;
GRANT UPDATE ON hub.content_version(state) TO hub_app;
GRANT UPDATE ON hub.content_version(decided_at) TO hub_app;
GRANT UPDATE ON hub.content_version(reason) TO hub_app;

CREATE TABLE hub.credit_watch (
  account bigint NOT NULL,
  balance bigint NOT NULL,
  CONSTRAINT credit_watch_pkey PRIMARY KEY (account)
) WITH (fillfactor=70);
GRANT DELETE, INSERT, SELECT, UPDATE ON hub.credit_watch TO hub_app;

CREATE TABLE hub.cursor (
  name text NOT NULL,
  shard smallint NOT NULL,
  seq bigint NOT NULL,
  replay_to bigint DEFAULT 0 NOT NULL,
  CONSTRAINT cursor_pkey PRIMARY KEY (name, shard),
  CONSTRAINT cursor_replay_to_check CHECK ((replay_to >= 0)),
  CONSTRAINT cursor_seq_check CHECK ((seq >= 0))
);
GRANT INSERT, SELECT, UPDATE ON hub.cursor TO hub_app;

CREATE TABLE hub.device (
  hash bytea NOT NULL,
  person text NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  used_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT device_pkey PRIMARY KEY (hash),
  CONSTRAINT device_hash_check CHECK ((length(hash) = 32)),
  CONSTRAINT device_person_fkey FOREIGN KEY (person) REFERENCES hub.person(principal)
);
CREATE INDEX device_person ON hub.device USING btree (person, used_at);
GRANT DELETE, INSERT, SELECT ON hub.device TO hub_app;
GRANT UPDATE ON hub.device(used_at) TO hub_app;

CREATE TABLE hub.discovery (
  source text NOT NULL,
  place jsonb DEFAULT '{}'::jsonb NOT NULL,
  pass integer DEFAULT 1 NOT NULL,
  pages integer DEFAULT 0 NOT NULL,
  rows integer DEFAULT 0 NOT NULL,
  refused integer DEFAULT 0 NOT NULL,
  started_at timestamp with time zone DEFAULT now() NOT NULL,
  finished_at timestamp with time zone,
  next_at timestamp with time zone DEFAULT now() NOT NULL,
  failures integer DEFAULT 0 NOT NULL,
  error text,
  CONSTRAINT discovery_pkey PRIMARY KEY (source)
);
GRANT INSERT, SELECT, UPDATE ON hub.discovery TO hub_app;

CREATE TABLE hub.distrusted_payer (
  payer text NOT NULL,
  until timestamp with time zone NOT NULL,
  reason text NOT NULL,
  CONSTRAINT distrusted_payer_pkey PRIMARY KEY (payer),
  CONSTRAINT distrusted_payer_payer_check CHECK ((payer ~ '^0x[0-9a-f]{40}$'::text))
);
GRANT INSERT, SELECT, UPDATE ON hub.distrusted_payer TO hub_app;

CREATE TABLE hub.document (
  series text NOT NULL,
  number bigint NOT NULL,
  previous bigint GENERATED ALWAYS AS (NULLIF((number - 1), 0)) STORED,
  kind text NOT NULL,
  subject text NOT NULL,
  principal text NOT NULL,
  issued_at timestamp with time zone NOT NULL,
  content jsonb NOT NULL,
  CONSTRAINT document_pkey PRIMARY KEY (series, number),
  CONSTRAINT document_kind_check CHECK ((kind = ANY (ARRAY['purchase'::text, 'call'::text, 'statement'::text, 'commission'::text, 'earnings'::text, 'credit-note'::text]))),
  CONSTRAINT document_kind_subject_key UNIQUE (kind, subject),
  CONSTRAINT document_number_check CHECK ((number > 0)),
  CONSTRAINT document_principal_fkey FOREIGN KEY (principal) REFERENCES hub.principal(id),
  CONSTRAINT document_series_check CHECK ((series ~ '^[A-Z]{3}-20\d\d$'::text)),
  CONSTRAINT document_series_previous_fkey FOREIGN KEY (series, previous) REFERENCES hub.document(series, number),
  CONSTRAINT document_totals CHECK ((((content #>> '{totals,gross_microdollars}'::text[]))::bigint = (((content #>> '{totals,net_microdollars}'::text[]))::bigint + ((content #>> '{totals,tax_microdollars}'::text[]))::bigint)))
);
CREATE INDEX document_principal ON hub.document USING btree (principal, issued_at DESC);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON hub.document FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON hub.document FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
GRANT SELECT ON hub.document TO hub_app;

CREATE TABLE hub.domain (
  id text NOT NULL,
  host text NOT NULL,
  origin text NOT NULL,
  owner text NOT NULL,
  provider text NOT NULL,
  slug text,
  sold_as text,
  wanted text,
  name text NOT NULL,
  summary text NOT NULL,
  state text DEFAULT 'pending'::text NOT NULL,
  selling boolean DEFAULT true NOT NULL,
  method text,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  tried_at timestamp with time zone,
  proven_at timestamp with time zone,
  next_check_at timestamp with time zone,
  token_version integer DEFAULT 1 NOT NULL,
  previewed_at timestamp with time zone,
  doubtful_url text,
  doubtful_confidence real,
  doubtful_at timestamp with time zone,
  noticed_at timestamp with time zone,
  CONSTRAINT domain_pkey PRIMARY KEY (id),
  CONSTRAINT domain_check CHECK (((origin = ('https://'::text || host)) OR (origin = ('http://'::text || host)))),
  CONSTRAINT domain_check1 CHECK (((state <> 'verified'::text) OR (num_nulls(slug, sold_as, method, proven_at, next_check_at) = 0))),
  CONSTRAINT domain_check2 CHECK (((state <> 'pending'::text) OR (slug IS NULL))),
  CONSTRAINT domain_check3 CHECK ((num_nulls(doubtful_url, doubtful_confidence, doubtful_at) = ANY (ARRAY[0, 3]))),
  CONSTRAINT domain_doubtful_confidence_check CHECK (((doubtful_confidence >= (0)::double precision) AND (doubtful_confidence <= (1)::double precision))),
  CONSTRAINT domain_doubtful_url_check CHECK ((length(doubtful_url) <= 2048)),
  CONSTRAINT domain_host_check CHECK (((host = lower(host)) AND (length(host) <= 253))),
  CONSTRAINT domain_id_check CHECK ((id ~ '^dom_[0-9A-Za-z]{16}$'::text)),
  CONSTRAINT domain_method_check CHECK ((method = ANY (ARRAY['file'::text, 'meta'::text, 'dns'::text]))),
  CONSTRAINT domain_name_check CHECK (((length(name) >= 1) AND (length(name) <= 100))),
  CONSTRAINT domain_owner_fkey FOREIGN KEY (owner) REFERENCES hub.principal(id),
  CONSTRAINT domain_provider_fkey FOREIGN KEY (provider) REFERENCES hub.provider(id),
  CONSTRAINT domain_slug_fkey FOREIGN KEY (slug) REFERENCES hub.service(slug),
  CONSTRAINT domain_slug_key UNIQUE (slug),
  CONSTRAINT domain_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'verified'::text, 'expired'::text, 'transferred'::text, 'deleted'::text]))),
  CONSTRAINT domain_summary_check CHECK (((length(summary) >= 1) AND (length(summary) <= 500)))
);
CREATE UNIQUE INDEX domain_claim ON hub.domain USING btree (owner, host) WHERE (state <> 'deleted'::text);
CREATE INDEX domain_due ON hub.domain USING btree (next_check_at) WHERE (next_check_at IS NOT NULL);
CREATE UNIQUE INDEX domain_held ON hub.domain USING btree (host) WHERE (state = 'verified'::text);
CREATE INDEX domain_host ON hub.domain USING btree (host);
CREATE INDEX domain_sold ON hub.domain USING btree (slug) WHERE ((state = 'verified'::text) AND selling);
GRANT INSERT, SELECT, UPDATE ON hub.domain TO hub_app;

CREATE TABLE hub.domain_rule (
  domain text NOT NULL,
  pattern text NOT NULL,
  "position" smallint NOT NULL,
  allow boolean NOT NULL,
  price bigint NOT NULL,
  cached_price bigint NOT NULL,
  max_age_seconds integer NOT NULL,
  preview_characters integer NOT NULL,
  wait_for text,
  exclude text[] NOT NULL,
  fast boolean NOT NULL,
  agents text[] DEFAULT '{}'::text[] NOT NULL,
  CONSTRAINT domain_rule_pkey PRIMARY KEY (domain, "position"),
  CONSTRAINT domain_rule_agents_check CHECK ((cardinality(agents) <= 50)),
  CONSTRAINT domain_rule_check CHECK (((cached_price >= 0) AND (cached_price <= price))),
  CONSTRAINT domain_rule_distinct UNIQUE (domain, pattern, agents),
  CONSTRAINT domain_rule_domain_fkey FOREIGN KEY (domain) REFERENCES hub.domain(id) ON DELETE CASCADE,
  CONSTRAINT domain_rule_exclude_check CHECK ((cardinality(exclude) <= 50)),
  CONSTRAINT domain_rule_max_age_seconds_check CHECK (((max_age_seconds >= 0) AND (max_age_seconds <= 2592000))),
  CONSTRAINT domain_rule_pattern_check CHECK (((pattern ~ '^/'::text) AND (length(pattern) <= 500))),
  CONSTRAINT domain_rule_position_check CHECK ((("position" >= 0) AND ("position" <= 199))),
  CONSTRAINT domain_rule_preview_characters_check CHECK (((preview_characters >= 0) AND (preview_characters <= 5000))),
  CONSTRAINT domain_rule_price_check CHECK (((price >= 0) AND (price <= 1000000000))),
  CONSTRAINT domain_rule_wait_for_check CHECK (((length(wait_for) >= 1) AND (length(wait_for) <= 200)))
);
GRANT DELETE, INSERT, SELECT ON hub.domain_rule TO hub_app;

CREATE TABLE hub.earning (
  account bigint NOT NULL,
  day date NOT NULL,
  calls bigint NOT NULL,
  gross bigint NOT NULL,
  commission bigint NOT NULL,
  refunded bigint NOT NULL,
  rounding bigint DEFAULT 0 NOT NULL,
  CONSTRAINT earning_pkey PRIMARY KEY (account, day)
) WITH (fillfactor=70);
GRANT DELETE, INSERT, SELECT, UPDATE ON hub.earning TO hub_app;

CREATE TABLE hub.endpoint (
  id integer GENERATED ALWAYS AS IDENTITY NOT NULL,
  service text NOT NULL,
  method text NOT NULL,
  path text NOT NULL,
  summary text NOT NULL,
  input_schema jsonb NOT NULL,
  output_schema jsonb,
  state text DEFAULT 'active'::text NOT NULL,
  CONSTRAINT endpoint_pkey PRIMARY KEY (id),
  CONSTRAINT endpoint_method_check CHECK ((method = ANY (ARRAY['GET'::text, 'POST'::text, 'PUT'::text, 'PATCH'::text, 'DELETE'::text]))),
  CONSTRAINT endpoint_path_check CHECK ((path ~ '^/'::text)),
  CONSTRAINT endpoint_service_fkey FOREIGN KEY (service) REFERENCES hub.service(slug),
  CONSTRAINT endpoint_service_method_path_key UNIQUE (service, method, path),
  CONSTRAINT endpoint_state_check CHECK ((state = ANY (ARRAY['active'::text, 'retired'::text])))
);
GRANT INSERT, SELECT, UPDATE ON hub.endpoint TO hub_app;

CREATE TABLE hub.endpoint_test (
  service text NOT NULL,
  digest bytea NOT NULL,
  method text NOT NULL,
  path text NOT NULL,
  passed_at timestamp with time zone DEFAULT now() NOT NULL,
  latency_ms integer NOT NULL,
  input jsonb,
  CONSTRAINT endpoint_test_pkey PRIMARY KEY (service, digest),
  CONSTRAINT endpoint_test_digest_check CHECK ((length(digest) = 32)),
  CONSTRAINT endpoint_test_input_check CHECK ((octet_length((input)::text) <= 20000)),
  CONSTRAINT endpoint_test_latency_ms_check CHECK ((latency_ms >= 0)),
  CONSTRAINT endpoint_test_service_fkey FOREIGN KEY (service) REFERENCES hub.upstream(slug) ON DELETE CASCADE
);
GRANT DELETE, INSERT, SELECT, UPDATE ON hub.endpoint_test TO hub_app;

CREATE TABLE hub.export (
  id text NOT NULL,
  format text NOT NULL,
  title text NOT NULL,
  plan jsonb NOT NULL,
  opening jsonb,
  asked_by text NOT NULL,
  asked_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  total bigint NOT NULL,
  entries bigint DEFAULT 0 NOT NULL,
  bytes bigint DEFAULT 0 NOT NULL,
  "position" jsonb,
  declared jsonb,
  state text DEFAULT 'waiting'::text NOT NULL,
  sha256 text,
  failure text,
  changed_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  CONSTRAINT export_pkey PRIMARY KEY (id),
  CONSTRAINT export_check CHECK ((((state = 'done'::text) OR (state = 'dropped'::text)) = (sha256 IS NOT NULL))),
  CONSTRAINT export_check1 CHECK (((state = 'failed'::text) = (failure IS NOT NULL))),
  CONSTRAINT export_format_check CHECK ((format = ANY (ARRAY['jsonl'::text, 'csv'::text, 'hledger'::text, 'ledger'::text, 'beancount'::text]))),
  CONSTRAINT export_id_check CHECK ((id ~ '^exp_[0-9A-Za-z]{16}$'::text)),
  CONSTRAINT export_sha256_check CHECK ((sha256 ~ '^[0-9a-f]{64}$'::text)),
  CONSTRAINT export_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'writing'::text, 'written'::text, 'done'::text, 'failed'::text, 'dropped'::text]))),
  CONSTRAINT export_title_check CHECK (((length(title) >= 1) AND (length(title) <= 300))),
  CONSTRAINT export_total_check CHECK ((total >= 0))
);
CREATE INDEX export_asked ON hub.export USING btree (asked_at DESC, id);
CREATE INDEX export_open ON hub.export USING btree (asked_at) WHERE (state = ANY (ARRAY['waiting'::text, 'writing'::text, 'written'::text]));
GRANT INSERT, SELECT ON hub.export TO hub_app;
GRANT UPDATE ON hub.export(entries) TO hub_app;
GRANT UPDATE ON hub.export(bytes) TO hub_app;
GRANT UPDATE ON hub.export("position") TO hub_app;
GRANT UPDATE ON hub.export(declared) TO hub_app;
GRANT UPDATE ON hub.export(state) TO hub_app;
GRANT UPDATE ON hub.export(sha256) TO hub_app;
GRANT UPDATE ON hub.export(failure) TO hub_app;
GRANT UPDATE ON hub.export(changed_at) TO hub_app;

CREATE TABLE hub.export_part (
  export text NOT NULL,
  n integer NOT NULL,
  data bytea NOT NULL,
  CONSTRAINT export_part_pkey PRIMARY KEY (export, n),
  CONSTRAINT export_part_export_fkey FOREIGN KEY (export) REFERENCES hub.export(id),
  CONSTRAINT export_part_n_check CHECK ((n >= 0))
);
GRANT DELETE, INSERT, SELECT ON hub.export_part TO hub_app;

CREATE TABLE hub.gas_wallet (
  chain_id integer NOT NULL,
  address hub.address NOT NULL,
  opening bigint NOT NULL,
  opened_at bigint NOT NULL,
  booked boolean DEFAULT false NOT NULL,
  rest bigint NOT NULL,
  balance bigint,
  low boolean,
  looked_at timestamp with time zone,
  CONSTRAINT gas_wallet_pkey PRIMARY KEY (chain_id, address),
  CONSTRAINT gas_wallet_balance_check CHECK ((balance >= 0)),
  CONSTRAINT gas_wallet_opening_check CHECK ((opening >= 0)),
  CONSTRAINT gas_wallet_rest_check CHECK (((rest >= 0) AND (rest <= 999999999)))
);
GRANT INSERT, SELECT, UPDATE ON hub.gas_wallet TO hub_app;

CREATE TABLE hub.idempotent_call (
  id uuid NOT NULL,
  call uuid NOT NULL,
  done boolean DEFAULT false NOT NULL,
  busy_until timestamp with time zone NOT NULL,
  process uuid,
  CONSTRAINT idempotent_call_pkey PRIMARY KEY (id)
);
CREATE INDEX idempotent_call_retried ON hub.idempotent_call USING btree (call) WHERE (call <> id);
GRANT INSERT, SELECT, UPDATE ON hub.idempotent_call TO hub_app;

CREATE TABLE hub.identity_link (
  wallet text NOT NULL,
  person text NOT NULL,
  linked_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  CONSTRAINT identity_link_pkey PRIMARY KEY (wallet, person),
  CONSTRAINT identity_link_person_fkey FOREIGN KEY (person) REFERENCES hub.person(principal),
  CONSTRAINT identity_link_wallet_fkey FOREIGN KEY (wallet) REFERENCES hub.principal(id)
);
CREATE INDEX identity_link_person ON hub.identity_link USING btree (person);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON hub.identity_link FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON hub.identity_link FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
GRANT SELECT ON hub.identity_link TO hub_app;

CREATE TABLE hub.incident (
  id text NOT NULL,
  title text NOT NULL,
  service text,
  started_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  CONSTRAINT incident_pkey PRIMARY KEY (id),
  CONSTRAINT incident_id_check CHECK ((id ~ '^inc_[0-9A-Za-z]{16}$'::text)),
  CONSTRAINT incident_service_fkey FOREIGN KEY (service) REFERENCES hub.service(slug),
  CONSTRAINT incident_title_check CHECK (((length(title) >= 1) AND (length(title) <= 120)))
);
CREATE INDEX incident_started ON hub.incident USING btree (started_at);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON hub.incident FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON hub.incident FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
GRANT INSERT, SELECT ON hub.incident TO hub_app;

CREATE TABLE hub.incident_subscription (
  person text NOT NULL,
  since timestamp with time zone DEFAULT now() NOT NULL,
  token uuid DEFAULT gen_random_uuid() NOT NULL,
  CONSTRAINT incident_subscription_pkey PRIMARY KEY (person),
  CONSTRAINT incident_subscription_person_fkey FOREIGN KEY (person) REFERENCES hub.person(principal),
  CONSTRAINT incident_subscription_token_key UNIQUE (token)
);
GRANT DELETE, INSERT, SELECT ON hub.incident_subscription TO hub_app;

CREATE TABLE hub.incident_update (
  seq bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  incident text NOT NULL,
  at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  state text NOT NULL,
  message text NOT NULL,
  CONSTRAINT incident_update_pkey PRIMARY KEY (seq),
  CONSTRAINT incident_update_incident_fkey FOREIGN KEY (incident) REFERENCES hub.incident(id),
  CONSTRAINT incident_update_message_check CHECK (((length(message) >= 1) AND (length(message) <= 1000))),
  CONSTRAINT incident_update_state_check CHECK ((state = ANY (ARRAY['investigating'::text, 'identified'::text, 'monitoring'::text, 'resolved'::text])))
);
CREATE INDEX incident_update_incident ON hub.incident_update USING btree (incident, seq);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON hub.incident_update FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON hub.incident_update FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
GRANT INSERT, SELECT ON hub.incident_update TO hub_app;

CREATE TABLE hub.job_run (
  job text NOT NULL,
  succeeded_at timestamp with time zone,
  failing_since timestamp with time zone,
  failures bigint DEFAULT 0 NOT NULL,
  duration_ms integer NOT NULL,
  period_seconds integer NOT NULL,
  CONSTRAINT job_run_pkey PRIMARY KEY (job),
  CONSTRAINT job_run_duration_ms_check CHECK ((duration_ms >= 0)),
  CONSTRAINT job_run_job_check CHECK (((length(job) >= 1) AND (length(job) <= 200))),
  CONSTRAINT job_run_period_seconds_check CHECK ((period_seconds > 0))
) WITH (fillfactor=50);
GRANT SELECT ON hub.job_run TO hub_app;

CREATE TABLE hub.kept_answer (
  id uuid NOT NULL,
  sealed bytea NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  key_version integer DEFAULT 1 NOT NULL,
  CONSTRAINT kept_answer_pkey PRIMARY KEY (id)
);
CREATE INDEX kept_answer_expiry ON hub.kept_answer USING btree (expires_at);
GRANT DELETE, INSERT, SELECT, UPDATE ON hub.kept_answer TO hub_app;

CREATE TABLE hub.key_secret (
  hash bytea NOT NULL,
  key text NOT NULL,
  prefix text NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  expires_at timestamp with time zone,
  CONSTRAINT key_secret_pkey PRIMARY KEY (hash),
  CONSTRAINT key_secret_hash_check CHECK ((length(hash) = 32)),
  CONSTRAINT key_secret_key_fkey FOREIGN KEY (key) REFERENCES hub.api_key(id)
);
CREATE INDEX key_secret_key ON hub.key_secret USING btree (key);
CREATE TRIGGER announce AFTER INSERT OR UPDATE OF hash ON hub.key_secret FOR EACH STATEMENT EXECUTE FUNCTION hub.announce_credential();
GRANT INSERT, SELECT, UPDATE ON hub.key_secret TO hub_app;

CREATE TABLE hub.key_version (
  purpose text NOT NULL,
  version integer NOT NULL,
  key_id text NOT NULL,
  wrapped_by text NOT NULL,
  wrapped bytea,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  active_from timestamp with time zone NOT NULL,
  retired_at timestamp with time zone,
  CONSTRAINT key_version_pkey PRIMARY KEY (purpose, version),
  CONSTRAINT key_version_check CHECK ((num_nulls(wrapped, retired_at) = 1)),
  CONSTRAINT key_version_key_id_check CHECK ((key_id ~ '^[A-Za-z0-9_-]{1,64}$'::text)),
  CONSTRAINT key_version_key_id_key UNIQUE (key_id),
  CONSTRAINT key_version_purpose_check CHECK ((purpose ~ '^[a-z][a-z-]{2,39}$'::text)),
  CONSTRAINT key_version_version_check CHECK ((version >= 1)),
  CONSTRAINT key_version_wrapped_by_check CHECK (((length(wrapped_by) >= 1) AND (length(wrapped_by) <= 64))),
  CONSTRAINT key_version_wrapped_check CHECK (((length(wrapped) >= 29) AND (length(wrapped) <= 1000)))
);
CREATE TRIGGER check_key_version BEFORE DELETE OR UPDATE ON hub.key_version FOR EACH ROW EXECUTE FUNCTION hub.check_key_version();
GRANT INSERT, SELECT, UPDATE ON hub.key_version TO hub_app;

CREATE TABLE hub.lapse_notice (
  id uuid NOT NULL,
  principal text NOT NULL,
  amount bigint NOT NULL,
  bought_before timestamp with time zone NOT NULL,
  noticed_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  due_at timestamp with time zone NOT NULL,
  done_at timestamp with time zone,
  lapsed bigint,
  CONSTRAINT lapse_notice_pkey PRIMARY KEY (id),
  CONSTRAINT lapse_notice_amount_check CHECK ((amount > 0)),
  CONSTRAINT lapse_notice_check CHECK (((bought_before <= noticed_at) AND (due_at >= (noticed_at + '6 days'::interval)))),
  CONSTRAINT lapse_notice_check1 CHECK (((done_at IS NULL) = (lapsed IS NULL))),
  CONSTRAINT lapse_notice_check2 CHECK (((lapsed >= 0) AND (lapsed <= amount))),
  CONSTRAINT lapse_notice_principal_fkey FOREIGN KEY (principal) REFERENCES hub.principal(id)
);
CREATE INDEX lapse_notice_due ON hub.lapse_notice USING btree (due_at) WHERE (done_at IS NULL);
CREATE UNIQUE INDEX lapse_notice_open ON hub.lapse_notice USING btree (principal) WHERE (done_at IS NULL);
CREATE TRIGGER keep_row BEFORE DELETE ON hub.lapse_notice FOR EACH ROW EXECUTE FUNCTION hub.keep_row();
GRANT SELECT ON hub.lapse_notice TO hub_app;
GRANT INSERT ON hub.lapse_notice(id) TO hub_app;
GRANT INSERT ON hub.lapse_notice(principal) TO hub_app;
GRANT INSERT ON hub.lapse_notice(amount) TO hub_app;
GRANT INSERT ON hub.lapse_notice(bought_before) TO hub_app;
GRANT INSERT ON hub.lapse_notice(due_at) TO hub_app;
GRANT UPDATE ON hub.lapse_notice(done_at) TO hub_app;
GRANT UPDATE ON hub.lapse_notice(lapsed) TO hub_app;

CREATE TABLE hub.listing (
  id text NOT NULL,
  url text NOT NULL,
  method text NOT NULL,
  origin text NOT NULL,
  host text NOT NULL,
  name text NOT NULL,
  description text NOT NULL,
  category text NOT NULL,
  tags text[] NOT NULL,
  provider text NOT NULL,
  scheme text NOT NULL,
  network text NOT NULL,
  asset text NOT NULL,
  pay_to text NOT NULL,
  price bigint NOT NULL,
  payable boolean NOT NULL,
  offers jsonb NOT NULL,
  input_schema jsonb,
  output_schema jsonb,
  state text NOT NULL,
  reason text,
  rank smallint NOT NULL,
  first_seen_at timestamp with time zone DEFAULT now() NOT NULL,
  listed_at timestamp with time zone,
  last_verified_at timestamp with time zone,
  removed_at timestamp with time zone,
  probed_at timestamp with time zone,
  next_probe_at timestamp with time zone DEFAULT now(),
  failures integer DEFAULT 0 NOT NULL,
  uptime real,
  latency_p50_ms integer,
  latency_p95_ms integer,
  calls integer DEFAULT 0 NOT NULL,
  delivered integer DEFAULT 0 NOT NULL,
  payers integer,
  trust real,
  success real,
  rejected integer,
  paid_ms integer,
  CONSTRAINT listing_pkey PRIMARY KEY (id),
  CONSTRAINT listing_category_check CHECK ((category ~ '^[a-z][a-z0-9-]{0,39}$'::text)),
  CONSTRAINT listing_check CHECK ((delivered <= calls)),
  CONSTRAINT listing_check1 CHECK (((state = 'active'::text) = (reason IS NULL))),
  CONSTRAINT listing_check2 CHECK (((state = 'unlisted'::text) OR (removed_at IS NULL))),
  CONSTRAINT listing_check3 CHECK (((state <> 'active'::text) OR (last_verified_at IS NOT NULL))),
  CONSTRAINT listing_description_check CHECK ((length(description) <= 1000)),
  CONSTRAINT listing_failures_check CHECK ((failures >= 0)),
  CONSTRAINT listing_id_check CHECK ((id ~ '^ext_[0-9A-Za-z]{22}$'::text)),
  CONSTRAINT listing_method_check CHECK ((method = ANY (ARRAY['GET'::text, 'HEAD'::text, 'POST'::text, 'PUT'::text, 'PATCH'::text, 'DELETE'::text]))),
  CONSTRAINT listing_name_check CHECK (((length(name) >= 1) AND (length(name) <= 100))),
  CONSTRAINT listing_price_check CHECK ((price > 0)),
  CONSTRAINT listing_provider_check CHECK (((length(provider) >= 1) AND (length(provider) <= 100))),
  CONSTRAINT listing_rank_check CHECK (((rank >= 1) AND (rank <= 6))),
  CONSTRAINT listing_state_check CHECK ((state = ANY (ARRAY['active'::text, 'degraded'::text, 'down'::text, 'unlisted'::text]))),
  CONSTRAINT listing_tags_check CHECK ((cardinality(tags) <= 12)),
  CONSTRAINT listing_uptime_check CHECK (((uptime >= (0)::double precision) AND (uptime <= (100)::double precision))),
  CONSTRAINT listing_url_check CHECK ((length(url) <= 2048)),
  CONSTRAINT listing_url_method_key UNIQUE (url, method)
) WITH (fillfactor=80);
CREATE INDEX listing_due ON hub.listing USING btree (next_probe_at) WHERE (next_probe_at IS NOT NULL);
CREATE INDEX listing_host ON hub.listing USING btree (host, url, method);
CREATE INDEX listing_shown ON hub.listing USING btree (id) WHERE (state = ANY (ARRAY['active'::text, 'degraded'::text]));
CREATE TRIGGER listing_added AFTER INSERT ON hub.listing REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION hub.listing_added();
CREATE TRIGGER listing_changed AFTER UPDATE ON hub.listing FOR EACH ROW WHEN ((((((((((((((((((((old.name IS DISTINCT FROM new.name) OR (old.description IS DISTINCT FROM new.description)) OR (old.category IS DISTINCT FROM new.category)) OR (old.tags IS DISTINCT FROM new.tags)) OR (old.network IS DISTINCT FROM new.network)) OR (old.pay_to IS DISTINCT FROM new.pay_to)) OR (old.price IS DISTINCT FROM new.price)) OR (old.offers IS DISTINCT FROM new.offers)) OR (old.input_schema IS DISTINCT FROM new.input_schema)) OR (old.output_schema IS DISTINCT FROM new.output_schema)) OR (old.state IS DISTINCT FROM new.state)) OR (old.reason IS DISTINCT FROM new.reason)) OR (old.last_verified_at IS DISTINCT FROM new.last_verified_at)) OR (old.uptime IS DISTINCT FROM new.uptime)) OR (old.latency_p50_ms IS DISTINCT FROM new.latency_p50_ms)) OR (old.latency_p95_ms IS DISTINCT FROM new.latency_p95_ms)) OR (old.paid_ms IS DISTINCT FROM new.paid_ms)) OR (old.trust IS DISTINCT FROM new.trust)) OR (old.success IS DISTINCT FROM new.success))) EXECUTE FUNCTION hub.listing_changed();
GRANT INSERT, SELECT, UPDATE ON hub.listing TO hub_app;

CREATE TABLE hub.listing_change (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  listing text NOT NULL,
  field text NOT NULL,
  before text,
  after text NOT NULL,
  verified boolean NOT NULL,
  at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT listing_change_pkey PRIMARY KEY (id),
  CONSTRAINT listing_change_field_check CHECK ((field = ANY (ARRAY['price'::text, 'pay_to'::text, 'network'::text, 'schema'::text, 'state'::text]))),
  CONSTRAINT listing_change_listing_fkey FOREIGN KEY (listing) REFERENCES hub.listing(id)
);
CREATE INDEX listing_change_listing ON hub.listing_change USING btree (listing, field, id DESC);
GRANT SELECT ON hub.listing_change TO hub_app;

CREATE TABLE hub.listing_day (
  listing text NOT NULL,
  day date NOT NULL,
  probes integer NOT NULL,
  up integer NOT NULL,
  latencies integer[] NOT NULL,
  CONSTRAINT listing_day_pkey PRIMARY KEY (listing, day),
  CONSTRAINT listing_day_check CHECK ((up <= probes)),
  CONSTRAINT listing_day_listing_fkey FOREIGN KEY (listing) REFERENCES hub.listing(id)
) WITH (fillfactor=80);
GRANT INSERT, SELECT, UPDATE ON hub.listing_day TO hub_app;

CREATE TABLE hub.listing_owner (
  host text NOT NULL,
  principal text NOT NULL,
  method text NOT NULL,
  proven_at timestamp with time zone DEFAULT now() NOT NULL,
  opted_out_at timestamp with time zone,
  opt_out_reason text,
  CONSTRAINT listing_owner_pkey PRIMARY KEY (host),
  CONSTRAINT listing_owner_method_check CHECK ((method = ANY (ARRAY['file'::text, 'meta'::text, 'dns'::text]))),
  CONSTRAINT listing_owner_principal_fkey FOREIGN KEY (principal) REFERENCES hub.principal(id)
);
GRANT INSERT, SELECT, UPDATE ON hub.listing_owner TO hub_app;

CREATE TABLE hub.listing_probe (
  listing text NOT NULL,
  at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  outcome text NOT NULL,
  status smallint,
  latency_ms integer,
  price bigint,
  pay_to text,
  CONSTRAINT listing_probe_pkey PRIMARY KEY (listing, at),
  CONSTRAINT listing_probe_listing_fkey FOREIGN KEY (listing) REFERENCES hub.listing(id)
);
CREATE INDEX listing_probe_age ON hub.listing_probe USING btree (at);
GRANT DELETE, INSERT, SELECT ON hub.listing_probe TO hub_app;

CREATE TABLE hub.listing_source (
  source text NOT NULL,
  key text NOT NULL,
  listing text,
  reason text,
  claim jsonb NOT NULL,
  digest bytea NOT NULL,
  pass integer NOT NULL,
  gone boolean DEFAULT false NOT NULL,
  first_seen_at timestamp with time zone DEFAULT now() NOT NULL,
  seen_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT listing_source_pkey PRIMARY KEY (source, key),
  CONSTRAINT listing_source_check CHECK (((listing IS NULL) <> (reason IS NULL))),
  CONSTRAINT listing_source_listing_fkey FOREIGN KEY (listing) REFERENCES hub.listing(id)
);
CREATE INDEX listing_source_listing ON hub.listing_source USING btree (listing) WHERE (listing IS NOT NULL);
CREATE INDEX listing_source_refused ON hub.listing_source USING btree (source, reason) WHERE (listing IS NULL);
GRANT INSERT, SELECT, UPDATE ON hub.listing_source TO hub_app;

CREATE TABLE hub.low_balance (
  account bigint NOT NULL,
  shard smallint NOT NULL,
  seq bigint NOT NULL,
  at timestamp with time zone NOT NULL,
  balance bigint NOT NULL,
  threshold bigint NOT NULL,
  CONSTRAINT low_balance_pkey PRIMARY KEY (account, shard, seq)
);
GRANT DELETE, INSERT, SELECT ON hub.low_balance TO hub_app;

CREATE TABLE hub.low_balance_threshold (
  account bigint NOT NULL,
  threshold bigint NOT NULL,
  CONSTRAINT low_balance_threshold_pkey PRIMARY KEY (account),
  CONSTRAINT low_balance_threshold_threshold_check CHECK ((threshold >= 0))
);
GRANT DELETE, INSERT, SELECT, UPDATE ON hub.low_balance_threshold TO hub_app;

CREATE TABLE hub.magic_link (
  id text NOT NULL,
  hash bytea NOT NULL,
  email text NOT NULL,
  network text NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  used_at timestamp with time zone,
  device text,
  mailed boolean DEFAULT true NOT NULL,
  key_version integer DEFAULT 1 NOT NULL,
  CONSTRAINT magic_link_pkey PRIMARY KEY (id),
  CONSTRAINT magic_link_hash_check CHECK ((length(hash) = 32)),
  CONSTRAINT magic_link_hash_key UNIQUE (hash),
  CONSTRAINT magic_link_id_check CHECK ((id ~ '^lnk_[0-9A-Za-z]{16}$'::text))
);
CREATE INDEX magic_link_email ON hub.magic_link USING btree (email, created_at);
CREATE INDEX magic_link_network ON hub.magic_link USING btree (network, created_at);
CREATE TRIGGER announce AFTER INSERT ON hub.magic_link FOR EACH STATEMENT EXECUTE FUNCTION hub.announce_credential();
GRANT DELETE, INSERT, SELECT, UPDATE ON hub.magic_link TO hub_app;

CREATE TABLE hub.mail (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  template text NOT NULL,
  recipient text NOT NULL,
  subject_id text NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  next_at timestamp with time zone DEFAULT now() NOT NULL,
  attempts smallint DEFAULT 0 NOT NULL,
  CONSTRAINT mail_pkey PRIMARY KEY (id),
  CONSTRAINT mail_template_check CHECK ((template = ANY (ARRAY['sign-in'::text, 'payout-sent'::text, 'payout-address'::text, 'credits-expiring'::text, 'rate-decided'::text, 'incident'::text, 'low-balance'::text, 'domain-proof'::text])))
);
CREATE INDEX mail_due ON hub.mail USING btree (next_at);
GRANT DELETE, INSERT, SELECT, UPDATE ON hub.mail TO hub_app;

CREATE TABLE hub.migration (
  number integer NOT NULL,
  name text NOT NULL,
  sha256 text NOT NULL,
  applied_at timestamp with time zone DEFAULT now() NOT NULL,
  kind text,
  CONSTRAINT migration_pkey PRIMARY KEY (number)
);
GRANT SELECT ON hub.migration TO hub_app;

CREATE TABLE hub.open_hold (
  shard smallint NOT NULL,
  seq bigint NOT NULL,
  call uuid NOT NULL,
  owner bigint NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  CONSTRAINT open_hold_pkey PRIMARY KEY (shard, seq)
);
CREATE INDEX open_hold_due ON hub.open_hold USING btree (expires_at);
GRANT DELETE, INSERT, SELECT ON hub.open_hold TO hub_app;

CREATE TABLE hub.outcome_day (
  service text NOT NULL,
  day date NOT NULL,
  endpoint integer NOT NULL,
  outcome text NOT NULL,
  refused boolean NOT NULL,
  ms integer[] NOT NULL,
  calls integer[] NOT NULL,
  CONSTRAINT outcome_day_pkey PRIMARY KEY (service, day, endpoint, outcome, refused),
  CONSTRAINT outcome_day_check CHECK ((cardinality(ms) = cardinality(calls)))
) WITH (fillfactor=50);
GRANT SELECT ON hub.outcome_day TO hub_app;

CREATE TABLE hub.outflow (
  day date NOT NULL,
  scope text NOT NULL,
  amount bigint NOT NULL,
  CONSTRAINT outflow_pkey PRIMARY KEY (day, scope),
  CONSTRAINT outflow_amount_check CHECK ((amount >= 0)),
  CONSTRAINT outflow_scope_check CHECK ((scope ~ '^(key:[0-9]+|host:.+|platform)$'::text))
);
GRANT SELECT ON hub.outflow TO hub_app;

CREATE TABLE hub.outgoing_epoch (
  one boolean DEFAULT true NOT NULL,
  server_start timestamp with time zone NOT NULL,
  database oid,
  xact xid8 NOT NULL,
  head bigint NOT NULL,
  confirmed boolean NOT NULL,
  CONSTRAINT outgoing_epoch_pkey PRIMARY KEY (one),
  CONSTRAINT outgoing_epoch_one_check CHECK (one)
);

CREATE TABLE hub.outgoing_switch (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  paused boolean NOT NULL,
  author text NOT NULL,
  reason text NOT NULL,
  at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  CONSTRAINT outgoing_switch_pkey PRIMARY KEY (id),
  CONSTRAINT outgoing_switch_author_check CHECK ((author <> ''::text)),
  CONSTRAINT outgoing_switch_reason_check CHECK ((reason <> ''::text))
);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON hub.outgoing_switch FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON hub.outgoing_switch FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
GRANT SELECT ON hub.outgoing_switch TO hub_app;

CREATE TABLE hub.page_call (
  call uuid NOT NULL,
  domain text NOT NULL,
  url text NOT NULL,
  cached boolean NOT NULL,
  at timestamp with time zone DEFAULT now() NOT NULL,
  pages jsonb,
  CONSTRAINT page_call_pkey PRIMARY KEY (call),
  CONSTRAINT page_call_domain_fkey FOREIGN KEY (domain) REFERENCES hub.domain(id),
  CONSTRAINT page_call_pages_check CHECK ((jsonb_typeof(pages) = 'array'::text)),
  CONSTRAINT page_call_url_check CHECK ((length(url) <= 2048))
);
CREATE INDEX page_call_domain ON hub.page_call USING btree (domain, at);
GRANT INSERT, SELECT ON hub.page_call TO hub_app;
GRANT UPDATE ON hub.page_call(url) TO hub_app;
GRANT UPDATE ON hub.page_call(cached) TO hub_app;
GRANT UPDATE ON hub.page_call(pages) TO hub_app;

CREATE TABLE hub.payee_day (
  pay_to text NOT NULL,
  day date NOT NULL,
  payments integer NOT NULL,
  amount bigint NOT NULL,
  CONSTRAINT payee_day_pkey PRIMARY KEY (pay_to, day),
  CONSTRAINT payee_day_amount_check CHECK ((amount > 0)),
  CONSTRAINT payee_day_pay_to_check CHECK ((pay_to ~ '^0x[0-9a-f]{40}$'::text)),
  CONSTRAINT payee_day_payments_check CHECK ((payments > 0))
);
GRANT INSERT, SELECT, UPDATE ON hub.payee_day TO hub_app;

CREATE TABLE hub.payment_claim (
  network text NOT NULL,
  asset text NOT NULL,
  payer text NOT NULL,
  nonce text NOT NULL,
  id uuid NOT NULL,
  purpose text NOT NULL,
  pay_to text NOT NULL,
  payee text NOT NULL,
  commission_bps smallint NOT NULL,
  request_hash bytea NOT NULL,
  client bytea,
  amount bigint NOT NULL,
  state text DEFAULT 'claimed'::text NOT NULL,
  transaction text,
  valid_before timestamp with time zone NOT NULL,
  upfront boolean DEFAULT false NOT NULL,
  working_until timestamp with time zone,
  delivered_at timestamp with time zone,
  claimed_at timestamp with time zone DEFAULT now() NOT NULL,
  changed_at timestamp with time zone DEFAULT now() NOT NULL,
  call uuid,
  deposited boolean DEFAULT false NOT NULL,
  process uuid,
  settling boolean DEFAULT false NOT NULL,
  identifier text,
  authorized bigint,
  sponsored boolean DEFAULT false NOT NULL,
  on_trust boolean DEFAULT false NOT NULL,
  CONSTRAINT payment_claim_pkey PRIMARY KEY (network, asset, payer, nonce),
  CONSTRAINT payment_claim_amount_check CHECK ((amount > 0)),
  CONSTRAINT payment_claim_asset_check CHECK ((asset ~ '^0x[0-9a-f]{40}$'::text)),
  CONSTRAINT payment_claim_authorized CHECK ((((authorized IS NULL) AND (NOT sponsored)) OR ((amount <= authorized) AND (purpose = 'call'::text) AND (NOT upfront)))),
  CONSTRAINT payment_claim_commission_bps_check CHECK (((commission_bps >= 0) AND (commission_bps <= 10000))),
  CONSTRAINT payment_claim_id_key UNIQUE (id),
  CONSTRAINT payment_claim_identifier_check CHECK (((length(identifier) >= 1) AND (length(identifier) <= 255))),
  CONSTRAINT payment_claim_nonce_check CHECK ((nonce ~ '^0x[0-9a-f]{64}$'::text)),
  CONSTRAINT payment_claim_pay_to_check CHECK ((pay_to ~ '^0x[0-9a-f]{40}$'::text)),
  CONSTRAINT payment_claim_payer_check CHECK ((payer ~ '^0x[0-9a-f]{40}$'::text)),
  CONSTRAINT payment_claim_purpose_check CHECK ((purpose = ANY (ARRAY['credits'::text, 'call'::text]))),
  CONSTRAINT payment_claim_state_check CHECK ((state = ANY (ARRAY['claimed'::text, 'settled'::text, 'confirmed'::text, 'pending'::text, 'failed'::text, 'released'::text])))
);
CREATE UNIQUE INDEX payment_claim_approval ON hub.payment_claim USING btree (network, asset, payer) WHERE (sponsored AND (state = ANY (ARRAY['claimed'::text, 'pending'::text])));
CREATE INDEX payment_claim_call ON hub.payment_claim USING btree (call) WHERE (call IS NOT NULL);
CREATE INDEX payment_claim_funding ON hub.payment_claim USING btree (payee, payer) WHERE (purpose = 'credits'::text);
CREATE UNIQUE INDEX payment_claim_identifier ON hub.payment_claim USING btree (payer, identifier) WHERE (identifier IS NOT NULL);
CREATE INDEX payment_claim_open ON hub.payment_claim USING btree (changed_at) WHERE (state = ANY (ARRAY['claimed'::text, 'pending'::text, 'settled'::text, 'failed'::text, 'released'::text]));
CREATE INDEX payment_claim_owed ON hub.payment_claim USING btree (payer) WHERE (on_trust AND (state = ANY (ARRAY['claimed'::text, 'pending'::text])));
CREATE INDEX payment_claim_proven ON hub.payment_claim USING btree (payer, amount) WHERE (state = ANY (ARRAY['settled'::text, 'confirmed'::text]));
CREATE INDEX payment_claim_released ON hub.payment_claim USING btree (valid_before) WHERE (state = 'released'::text);
CREATE INDEX payment_claim_undelivered ON hub.payment_claim USING btree (claimed_at) WHERE ((purpose = 'call'::text) AND (state = 'confirmed'::text) AND (delivered_at IS NULL) AND (NOT deposited));
CREATE INDEX payment_claim_unsettled ON hub.payment_claim USING btree (payer) WHERE ((state = 'claimed'::text) AND (NOT upfront));
CREATE TRIGGER free_identifier BEFORE UPDATE OF state ON hub.payment_claim FOR EACH ROW WHEN (((new.identifier IS NOT NULL) AND (new.state = ANY (ARRAY['released'::text, 'failed'::text])))) EXECUTE FUNCTION hub.free_payment_identifier();
CREATE TRIGGER payment_claim_amount BEFORE UPDATE OF amount, authorized, settling ON hub.payment_claim FOR EACH ROW WHEN (((old.amount IS DISTINCT FROM new.amount) OR (old.authorized IS DISTINCT FROM new.authorized) OR (old.settling AND (NOT new.settling)))) EXECUTE FUNCTION hub.guard_claim_amount();
CREATE TRIGGER tell_payment AFTER UPDATE OF state ON hub.payment_claim FOR EACH ROW WHEN ((((old.state = 'pending'::text) AND (new.state = ANY (ARRAY['settled'::text, 'confirmed'::text, 'failed'::text]))) OR ((old.state = ANY (ARRAY['settled'::text, 'confirmed'::text])) AND (new.state = 'failed'::text)))) EXECUTE FUNCTION hub.tell_payment_in();
GRANT DELETE, INSERT, SELECT, UPDATE ON hub.payment_claim TO hub_app;

CREATE TABLE hub.payment_intent (
  call uuid NOT NULL,
  owner bigint NOT NULL,
  url text NOT NULL,
  host text NOT NULL,
  seller text NOT NULL,
  network text NOT NULL,
  asset text NOT NULL,
  payer text NOT NULL,
  payee text NOT NULL,
  amount bigint NOT NULL,
  nonce text NOT NULL,
  valid_before timestamp with time zone NOT NULL,
  payload_hash text NOT NULL,
  from_block bigint NOT NULL,
  state text DEFAULT 'signed'::text NOT NULL,
  transaction text,
  status smallint,
  reason text,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  changed_at timestamp with time zone DEFAULT now() NOT NULL,
  principal text,
  payee_accepted boolean,
  incomplete boolean,
  authorized bigint,
  CONSTRAINT payment_intent_pkey PRIMARY KEY (call),
  CONSTRAINT payment_intent_amount_check CHECK ((amount > 0)),
  CONSTRAINT payment_intent_authorized CHECK ((amount <= authorized)),
  CONSTRAINT payment_intent_nonce_key UNIQUE (nonce),
  CONSTRAINT payment_intent_state_check CHECK ((state = ANY (ARRAY['signed'::text, 'paid'::text, 'confirmed'::text, 'unresolved'::text, 'unused'::text])))
);
CREATE INDEX payment_intent_open ON hub.payment_intent USING btree (changed_at) WHERE (state = ANY (ARRAY['signed'::text, 'unresolved'::text, 'paid'::text]));
CREATE INDEX payment_intent_seller ON hub.payment_intent USING btree (seller, call);
CREATE INDEX payment_intent_settled ON hub.payment_intent USING btree (transaction) WHERE (authorized IS NOT NULL);
CREATE TRIGGER refuse_payment_without_hold BEFORE INSERT ON hub.payment_intent FOR EACH ROW EXECUTE FUNCTION hub.refuse_payment_without_hold();
CREATE TRIGGER tell_payment AFTER UPDATE OF state ON hub.payment_intent FOR EACH ROW WHEN ((((old.state = 'unresolved'::text) AND (new.state = ANY (ARRAY['paid'::text, 'confirmed'::text, 'unused'::text]))) OR ((old.state = 'signed'::text) AND (new.state = ANY (ARRAY['confirmed'::text, 'unused'::text]))) OR ((old.state = 'paid'::text) AND (new.state = 'unused'::text)))) EXECUTE FUNCTION hub.tell_payment_out();
GRANT SELECT ON hub.payment_intent TO hub_app;
GRANT UPDATE ON hub.payment_intent(changed_at) TO hub_app;

CREATE TABLE hub.payout (
  id uuid NOT NULL,
  provider text NOT NULL,
  batch date NOT NULL,
  attempt smallint NOT NULL,
  amount bigint NOT NULL,
  recovered bigint NOT NULL,
  shard smallint NOT NULL,
  payer hub.address NOT NULL,
  payee hub.address NOT NULL,
  nonce hub.hash NOT NULL,
  valid_before timestamp with time zone NOT NULL,
  from_block bigint NOT NULL,
  state text DEFAULT 'started'::text NOT NULL,
  transaction hub.hash,
  reason text,
  started_at timestamp with time zone DEFAULT now() NOT NULL,
  tried_at timestamp with time zone DEFAULT now() NOT NULL,
  ended_at timestamp with time zone,
  rules hub.payout_rules,
  approval bigint,
  CONSTRAINT payout_pkey PRIMARY KEY (id),
  CONSTRAINT payout_amount_check CHECK ((amount > 0)),
  CONSTRAINT payout_approval_fkey FOREIGN KEY (approval) REFERENCES hub.payout_approval(id),
  CONSTRAINT payout_attempt_check CHECK (((attempt >= 1) AND (attempt <= 1000))),
  CONSTRAINT payout_check CHECK (((state = 'started'::text) = (ended_at IS NULL))),
  CONSTRAINT payout_check1 CHECK (((state <> 'confirmed'::text) OR (transaction IS NOT NULL))),
  CONSTRAINT payout_nonce_key UNIQUE (nonce),
  CONSTRAINT payout_provider_batch_attempt_key UNIQUE (provider, batch, attempt),
  CONSTRAINT payout_provider_fkey FOREIGN KEY (provider) REFERENCES hub.provider(id),
  CONSTRAINT payout_recovered_check CHECK ((recovered >= 0)),
  CONSTRAINT payout_state_check CHECK ((state = ANY (ARRAY['started'::text, 'confirmed'::text, 'failed'::text])))
);
CREATE UNIQUE INDEX payout_approved ON hub.payout USING btree (approval) WHERE (state <> 'failed'::text);
CREATE UNIQUE INDEX payout_of_day ON hub.payout USING btree (provider, batch) WHERE (state <> 'failed'::text);
CREATE INDEX payout_open ON hub.payout USING btree (tried_at) WHERE (state = 'started'::text);
CREATE INDEX payout_provider ON hub.payout USING btree (provider, id);
CREATE INDEX payout_started ON hub.payout USING btree (started_at) INCLUDE (provider, amount) WHERE (state <> 'failed'::text);
CREATE UNIQUE INDEX payout_under_way ON hub.payout USING btree (provider) WHERE (state = 'started'::text);
CREATE TRIGGER admit BEFORE INSERT ON hub.payout FOR EACH ROW EXECUTE FUNCTION hub.admit_payout();
CREATE TRIGGER keep BEFORE DELETE OR UPDATE ON hub.payout FOR EACH ROW EXECUTE FUNCTION hub.keep_payout();
CREATE CONSTRAINT TRIGGER prove AFTER INSERT ON hub.payout DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION hub.prove_payout();
GRANT INSERT, SELECT ON hub.payout TO hub_app;
GRANT UPDATE ON hub.payout(state) TO hub_app;
GRANT UPDATE ON hub.payout(transaction) TO hub_app;
GRANT UPDATE ON hub.payout(reason) TO hub_app;
GRANT UPDATE ON hub.payout(tried_at) TO hub_app;
GRANT UPDATE ON hub.payout(ended_at) TO hub_app;

CREATE TABLE hub.payout_address (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  provider text NOT NULL,
  address hub.address NOT NULL,
  set_by text NOT NULL,
  nonce text NOT NULL,
  set_at timestamp with time zone DEFAULT now() NOT NULL,
  effective_at timestamp with time zone NOT NULL,
  withdrawn_at timestamp with time zone,
  request bigint,
  change_nonce text,
  recoverer text,
  CONSTRAINT payout_address_pkey PRIMARY KEY (id),
  CONSTRAINT payout_address_change_nonce_key UNIQUE (change_nonce),
  CONSTRAINT payout_address_check CHECK ((effective_at >= set_at)),
  CONSTRAINT payout_address_check1 CHECK ((withdrawn_at < effective_at)),
  CONSTRAINT payout_address_nonce_key UNIQUE (nonce),
  CONSTRAINT payout_address_provider_fkey FOREIGN KEY (provider) REFERENCES hub.provider(id),
  CONSTRAINT payout_address_recoverer_fkey FOREIGN KEY (recoverer) REFERENCES hub.principal(id),
  CONSTRAINT payout_address_request_fkey FOREIGN KEY (request) REFERENCES hub.payout_address_request(id),
  CONSTRAINT payout_address_set_by_fkey FOREIGN KEY (set_by) REFERENCES hub.principal(id)
);
CREATE INDEX payout_address_provider ON hub.payout_address USING btree (provider, effective_at, id);
CREATE TRIGGER admit BEFORE INSERT ON hub.payout_address FOR EACH ROW EXECUTE FUNCTION hub.admit_payout_address();
CREATE TRIGGER keep BEFORE DELETE OR UPDATE ON hub.payout_address FOR EACH ROW EXECUTE FUNCTION hub.keep_payout_address();
GRANT INSERT, SELECT ON hub.payout_address TO hub_app;
GRANT UPDATE ON hub.payout_address(withdrawn_at) TO hub_app;

CREATE TABLE hub.payout_address_request (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  provider text NOT NULL,
  address hub.address NOT NULL,
  requested_by text NOT NULL,
  nonce text NOT NULL,
  requested_at timestamp with time zone DEFAULT now() NOT NULL,
  closed_at timestamp with time zone,
  CONSTRAINT payout_address_request_pkey PRIMARY KEY (id),
  CONSTRAINT payout_address_request_nonce_key UNIQUE (nonce),
  CONSTRAINT payout_address_request_provider_fkey FOREIGN KEY (provider) REFERENCES hub.provider(id),
  CONSTRAINT payout_address_request_requested_by_fkey FOREIGN KEY (requested_by) REFERENCES hub.principal(id)
);
CREATE UNIQUE INDEX payout_address_request_open ON hub.payout_address_request USING btree (provider) WHERE (closed_at IS NULL);
GRANT SELECT ON hub.payout_address_request TO hub_app;
GRANT INSERT ON hub.payout_address_request(provider) TO hub_app;
GRANT INSERT ON hub.payout_address_request(address) TO hub_app;
GRANT INSERT ON hub.payout_address_request(requested_by) TO hub_app;
GRANT INSERT ON hub.payout_address_request(nonce) TO hub_app;
GRANT UPDATE ON hub.payout_address_request(closed_at) TO hub_app;

CREATE TABLE hub.payout_approval (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  provider text NOT NULL,
  payee hub.address NOT NULL,
  amount bigint NOT NULL,
  approved_by text NOT NULL,
  approver text NOT NULL,
  reason text NOT NULL,
  approved_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  CONSTRAINT payout_approval_pkey PRIMARY KEY (id),
  CONSTRAINT payout_approval_amount_check CHECK ((amount > 0)),
  CONSTRAINT payout_approval_approved_by_check CHECK ((approved_by <> ''::text)),
  CONSTRAINT payout_approval_approver_fkey FOREIGN KEY (approver) REFERENCES hub.principal(id),
  CONSTRAINT payout_approval_provider_fkey FOREIGN KEY (provider) REFERENCES hub.provider(id),
  CONSTRAINT payout_approval_reason_check CHECK (((length(TRIM(BOTH FROM reason)) >= 1) AND (length(TRIM(BOTH FROM reason)) <= 500)))
);
CREATE INDEX payout_approval_provider ON hub.payout_approval USING btree (provider, id);
CREATE TRIGGER admit BEFORE INSERT ON hub.payout_approval FOR EACH ROW EXECUTE FUNCTION hub.admit_payout_approval();
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON hub.payout_approval FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON hub.payout_approval FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
GRANT SELECT ON hub.payout_approval TO hub_app;
GRANT INSERT ON hub.payout_approval(provider) TO hub_app;
GRANT INSERT ON hub.payout_approval(payee) TO hub_app;
GRANT INSERT ON hub.payout_approval(amount) TO hub_app;
GRANT INSERT ON hub.payout_approval(approved_by) TO hub_app;
GRANT INSERT ON hub.payout_approval(approver) TO hub_app;
GRANT INSERT ON hub.payout_approval(reason) TO hub_app;

CREATE TABLE hub.payout_first (
  provider text NOT NULL,
  owner text NOT NULL,
  due_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  CONSTRAINT payout_first_pkey PRIMARY KEY (provider, owner),
  CONSTRAINT payout_first_owner_fkey FOREIGN KEY (owner) REFERENCES hub.principal(id),
  CONSTRAINT payout_first_provider_fkey FOREIGN KEY (provider) REFERENCES hub.provider(id)
);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON hub.payout_first FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON hub.payout_first FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
GRANT SELECT ON hub.payout_first TO hub_app;
GRANT INSERT ON hub.payout_first(provider) TO hub_app;
GRANT INSERT ON hub.payout_first(owner) TO hub_app;

CREATE TABLE hub.payout_part (
  payout uuid NOT NULL,
  account bigint NOT NULL,
  shard smallint NOT NULL,
  amount bigint NOT NULL,
  entry uuid NOT NULL,
  phase smallint GENERATED ALWAYS AS (0) STORED,
  after_seq bigint NOT NULL,
  upto_seq bigint NOT NULL,
  calls bigint,
  gross bigint,
  commission bigint,
  refunded bigint,
  other bigint,
  carried bigint DEFAULT 0 NOT NULL,
  rounding bigint DEFAULT 0 NOT NULL,
  rounding_entry uuid,
  refunds bigint,
  commission_refunded bigint,
  owed bigint,
  recovered bigint,
  CONSTRAINT payout_part_pkey PRIMARY KEY (payout, account, shard),
  CONSTRAINT payout_part_account_shard_after_seq_key UNIQUE (account, shard, after_seq),
  CONSTRAINT payout_part_account_shard_upto_seq_key UNIQUE (account, shard, upto_seq),
  CONSTRAINT payout_part_after_seq_check CHECK ((after_seq >= 0)),
  CONSTRAINT payout_part_amount_check CHECK ((amount > 0)),
  CONSTRAINT payout_part_calls_check CHECK ((calls >= 0)),
  CONSTRAINT payout_part_carried_check CHECK ((carried >= 0)),
  CONSTRAINT payout_part_check CHECK ((upto_seq > after_seq)),
  CONSTRAINT payout_part_check1 CHECK (((rounding = 0) = (rounding_entry IS NULL))),
  CONSTRAINT payout_part_commission CHECK ((((commission - rounding) >= 0) AND ((commission - rounding) <= gross))),
  CONSTRAINT payout_part_commission_refunded_check CHECK ((commission_refunded >= 0)),
  CONSTRAINT payout_part_gross_check CHECK ((gross >= 0)),
  CONSTRAINT payout_part_owed_check CHECK ((owed >= 0)),
  CONSTRAINT payout_part_payout_fkey FOREIGN KEY (payout) REFERENCES hub.payout(id),
  CONSTRAINT payout_part_recovered_check CHECK ((recovered >= 0)),
  CONSTRAINT payout_part_refunded_check CHECK ((refunded >= 0)),
  CONSTRAINT payout_part_refunds_check CHECK ((refunds >= 0)),
  CONSTRAINT payout_part_rounding_check CHECK ((rounding >= 0)),
  CONSTRAINT payout_part_sums CHECK (((num_nulls(calls, gross, commission, refunds, commission_refunded, owed, refunded, recovered, other) = ANY (ARRAY[0, 9])) AND COALESCE(((refunded = ((refunds - commission_refunded) - owed)) AND (amount = ((((gross - commission) - refunded) - recovered) + other))), true)))
);
CREATE INDEX payout_part_open ON hub.payout_part USING btree (payout) WHERE (calls IS NULL);
CREATE TRIGGER admit BEFORE INSERT ON hub.payout_part FOR EACH ROW WHEN ((new.rounding <> 0)) EXECUTE FUNCTION hub.admit_payout_part();
CREATE TRIGGER keep BEFORE DELETE OR UPDATE ON hub.payout_part FOR EACH ROW EXECUTE FUNCTION hub.keep_payout_part();
GRANT INSERT, SELECT ON hub.payout_part TO hub_app;
GRANT UPDATE ON hub.payout_part(calls) TO hub_app;
GRANT UPDATE ON hub.payout_part(gross) TO hub_app;
GRANT UPDATE ON hub.payout_part(commission) TO hub_app;
GRANT UPDATE ON hub.payout_part(refunded) TO hub_app;
GRANT UPDATE ON hub.payout_part(other) TO hub_app;
GRANT UPDATE ON hub.payout_part(refunds) TO hub_app;
GRANT UPDATE ON hub.payout_part(commission_refunded) TO hub_app;
GRANT UPDATE ON hub.payout_part(owed) TO hub_app;
GRANT UPDATE ON hub.payout_part(recovered) TO hub_app;

CREATE TABLE hub.person (
  principal text NOT NULL,
  email text NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT person_pkey PRIMARY KEY (principal),
  CONSTRAINT person_email_check CHECK (((email = lower(email)) AND (length(email) <= 254) AND (email ~ '^[^[:space:],;<>()"\\@]+@[^[:space:],;<>()"\\@]+$'::text))),
  CONSTRAINT person_email_key UNIQUE (email),
  CONSTRAINT person_principal_fkey FOREIGN KEY (principal) REFERENCES hub.principal(id)
);
GRANT INSERT, SELECT ON hub.person TO hub_app;

CREATE TABLE hub.plugin (
  spec text NOT NULL,
  entry text NOT NULL,
  generation integer DEFAULT 1 NOT NULL,
  removed boolean DEFAULT false NOT NULL,
  changed_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT plugin_pkey PRIMARY KEY (spec),
  CONSTRAINT plugin_check CHECK ((starts_with(entry, spec) AND (length(entry) <= 2000))),
  CONSTRAINT plugin_generation_check CHECK ((generation > 0)),
  CONSTRAINT plugin_spec_check CHECK (((length(spec) >= 1) AND (length(spec) <= 500)))
);
GRANT SELECT ON hub.plugin TO hub_app;

CREATE TABLE hub.plugin_process (
  process text NOT NULL,
  plugins jsonb NOT NULL,
  seen_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT plugin_process_pkey PRIMARY KEY (process),
  CONSTRAINT plugin_process_plugins_check CHECK ((jsonb_typeof(plugins) = 'object'::text)),
  CONSTRAINT plugin_process_process_check CHECK ((length(process) <= 300))
);
GRANT DELETE, INSERT, SELECT, UPDATE ON hub.plugin_process TO hub_app;

CREATE TABLE hub.price (
  endpoint integer NOT NULL,
  version integer NOT NULL,
  amount bigint NOT NULL,
  computed boolean NOT NULL,
  commission_bps smallint NOT NULL,
  since timestamp with time zone DEFAULT now() NOT NULL,
  unit text,
  unit_amount bigint,
  unit_per bigint,
  minimum bigint,
  CONSTRAINT price_pkey PRIMARY KEY (endpoint, version),
  CONSTRAINT price_amount_check CHECK ((amount >= 0)),
  CONSTRAINT price_commission_bps_check CHECK (((commission_bps >= 0) AND (commission_bps <= 10000))),
  CONSTRAINT price_endpoint_fkey FOREIGN KEY (endpoint) REFERENCES hub.endpoint(id),
  CONSTRAINT price_metered CHECK ((num_nulls(unit, unit_amount, unit_per) = ANY (ARRAY[0, 3]))),
  CONSTRAINT price_minimum CHECK (((minimum IS NULL) OR (computed AND (unit IS NULL) AND (minimum >= 0) AND (minimum <= amount)))),
  CONSTRAINT price_unit_amount_check CHECK ((unit_amount > 0)),
  CONSTRAINT price_unit_check CHECK ((unit ~ '^[a-z][a-z0-9-]{0,31}$'::text)),
  CONSTRAINT price_unit_per_check CHECK ((unit_per > 0)),
  CONSTRAINT price_version_check CHECK ((version > 0))
);
GRANT INSERT, SELECT ON hub.price TO hub_app;

CREATE TABLE hub.principal (
  id text NOT NULL,
  wallet_address text,
  shard smallint NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT principal_pkey PRIMARY KEY (id),
  CONSTRAINT principal_id_check CHECK ((id ~ '^prn_[0-9A-Za-z]{16}$'::text)),
  CONSTRAINT principal_wallet_address_check CHECK ((wallet_address ~ '^0x[0-9a-f]{40}$'::text)),
  CONSTRAINT principal_wallet_address_key UNIQUE (wallet_address)
);
GRANT INSERT, SELECT ON hub.principal TO hub_app;

CREATE TABLE hub.process (
  id uuid NOT NULL,
  beat_at timestamp with time zone DEFAULT now() NOT NULL,
  steady_since timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT process_pkey PRIMARY KEY (id)
);
GRANT DELETE, INSERT, SELECT, UPDATE ON hub.process TO hub_app;

CREATE TABLE hub.provider (
  id text NOT NULL,
  owner text,
  suspended_at timestamp with time zone,
  suspended_reason text,
  CONSTRAINT provider_pkey PRIMARY KEY (id),
  CONSTRAINT provider_check CHECK ((num_nulls(suspended_at, suspended_reason) = ANY (ARRAY[0, 2]))),
  CONSTRAINT provider_id_check CHECK ((id ~ '^[a-z0-9][a-z0-9-]{0,38}[a-z0-9]$'::text)),
  CONSTRAINT provider_owner_fkey FOREIGN KEY (owner) REFERENCES hub.principal(id),
  CONSTRAINT provider_owner_key UNIQUE (owner),
  CONSTRAINT provider_suspended_reason_check CHECK (((length(suspended_reason) >= 1) AND (length(suspended_reason) <= 500)))
);
CREATE INDEX provider_suspended ON hub.provider USING btree (id) WHERE (suspended_at IS NOT NULL);
GRANT INSERT, SELECT, UPDATE ON hub.provider TO hub_app;

CREATE TABLE hub.quote (
  id uuid NOT NULL,
  key_id text NOT NULL,
  endpoint integer NOT NULL,
  price_version integer NOT NULL,
  amount bigint NOT NULL,
  commission_bps smallint NOT NULL,
  request_hash bytea NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  CONSTRAINT quote_pkey PRIMARY KEY (id),
  CONSTRAINT quote_amount_check CHECK ((amount >= 0)),
  CONSTRAINT quote_commission_bps_check CHECK (((commission_bps >= 0) AND (commission_bps <= 10000))),
  CONSTRAINT quote_endpoint_price_version_fkey FOREIGN KEY (endpoint, price_version) REFERENCES hub.price(endpoint, version),
  CONSTRAINT quote_key_id_fkey FOREIGN KEY (key_id) REFERENCES hub.api_key(id)
);
CREATE INDEX quote_expiry ON hub.quote USING btree (expires_at);
GRANT DELETE, INSERT, SELECT ON hub.quote TO hub_app;

CREATE TABLE hub.rate_request (
  id text NOT NULL,
  key text NOT NULL,
  per_minute integer NOT NULL,
  purpose text NOT NULL,
  created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  granted integer,
  reason text,
  decided_at timestamp with time zone,
  CONSTRAINT rate_request_pkey PRIMARY KEY (id),
  CONSTRAINT rate_request_check CHECK (((decided_at IS NULL) = (reason IS NULL))),
  CONSTRAINT rate_request_check1 CHECK (((granted IS NULL) OR (decided_at IS NOT NULL))),
  CONSTRAINT rate_request_granted_check CHECK (((granted >= 1) AND (granted <= 1000000))),
  CONSTRAINT rate_request_id_check CHECK ((id ~ '^rrq_[0-9A-Za-z]{16}$'::text)),
  CONSTRAINT rate_request_key_fkey FOREIGN KEY (key) REFERENCES hub.api_key(id),
  CONSTRAINT rate_request_per_minute_check CHECK (((per_minute >= 1) AND (per_minute <= 1000000))),
  CONSTRAINT rate_request_purpose_check CHECK (((length(purpose) >= 1) AND (length(purpose) <= 500)))
);
CREATE INDEX rate_request_key ON hub.rate_request USING btree (key, created_at);
CREATE UNIQUE INDEX rate_request_pending ON hub.rate_request USING btree (key) WHERE (decided_at IS NULL);
CREATE TRIGGER keep_row BEFORE DELETE ON hub.rate_request FOR EACH ROW EXECUTE FUNCTION hub.keep_row();
GRANT SELECT ON hub.rate_request TO hub_app;
GRANT INSERT ON hub.rate_request(id) TO hub_app;
GRANT INSERT ON hub.rate_request(key) TO hub_app;
GRANT INSERT, UPDATE ON hub.rate_request(per_minute) TO hub_app;
GRANT INSERT, UPDATE ON hub.rate_request(purpose) TO hub_app;
GRANT UPDATE ON hub.rate_request(granted) TO hub_app;
GRANT UPDATE ON hub.rate_request(reason) TO hub_app;
GRANT UPDATE ON hub.rate_request(decided_at) TO hub_app;

CREATE TABLE hub.rate_window (
  key text NOT NULL,
  hits integer NOT NULL,
  ends_at timestamp with time zone NOT NULL,
  CONSTRAINT rate_window_pkey PRIMARY KEY (key),
  CONSTRAINT rate_window_hits_check CHECK ((hits > 0))
) WITH (fillfactor=50, autovacuum_vacuum_threshold=1000);
GRANT DELETE, INSERT, SELECT, UPDATE ON hub.rate_window TO hub_app;

CREATE TABLE hub.reconciliation (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  wallet hub.wallet NOT NULL,
  address hub.address NOT NULL,
  from_block bigint NOT NULL,
  to_block bigint NOT NULL,
  block_hash hub.hash NOT NULL,
  block_time timestamp with time zone NOT NULL,
  chain_balance bigint,
  ledger_balance bigint NOT NULL,
  transfers integer NOT NULL,
  matched integer NOT NULL,
  pending integer NOT NULL,
  exceptions integer NOT NULL,
  at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  CONSTRAINT reconciliation_pkey PRIMARY KEY (id),
  CONSTRAINT reconciliation_check CHECK ((to_block >= (from_block - 1))),
  CONSTRAINT reconciliation_from_block_check CHECK ((from_block >= 0))
);
CREATE INDEX reconciliation_newest ON hub.reconciliation USING btree (wallet, address, id DESC);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON hub.reconciliation FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON hub.reconciliation FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
GRANT INSERT, SELECT ON hub.reconciliation TO hub_app;

CREATE TABLE hub.reconciliation_exception (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  wallet hub.wallet NOT NULL,
  kind text NOT NULL,
  fact text NOT NULL,
  amount bigint NOT NULL,
  reason text NOT NULL,
  tx hub.hash,
  block bigint,
  transfer bigint,
  entry bigint,
  found_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  seen_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  resolved_at timestamp with time zone,
  resolution text,
  author text,
  explanation text,
  answer bigint,
  answer_id uuid,
  answer_phase smallint GENERATED ALWAYS AS (0) STORED,
  CONSTRAINT reconciliation_exception_pkey PRIMARY KEY (id),
  CONSTRAINT exception_resolved CHECK (
CASE resolution
    WHEN 'booked'::text THEN (num_nulls(resolved_at, author, explanation, answer, answer_id) = 0)
    WHEN 'explained'::text THEN ((num_nulls(resolved_at, author, explanation) = 0) AND (answer IS NULL))
    WHEN 'vanished'::text THEN ((num_nulls(resolved_at, explanation) = 0) AND (author IS NULL) AND (answer IS NULL))
    ELSE (num_nonnulls(resolved_at, author, explanation, answer, answer_id) = 0)
END),
  CONSTRAINT reconciliation_exception_author_check CHECK (((length(TRIM(BOTH FROM author)) >= 1) AND (length(TRIM(BOTH FROM author)) <= 200))),
  CONSTRAINT reconciliation_exception_entry_fkey FOREIGN KEY (entry) REFERENCES hub.wallet_entry(id),
  CONSTRAINT reconciliation_exception_explanation_check CHECK ((length(TRIM(BOTH FROM explanation)) > 0)),
  CONSTRAINT reconciliation_exception_kind_check CHECK ((kind = ANY (ARRAY['unknown_deposit'::text, 'unknown_withdrawal'::text, 'missing_on_chain'::text, 'amount_differs'::text, 'booked_twice'::text, 'no_transaction'::text, 'balance_differs'::text, 'reorganised'::text]))),
  CONSTRAINT reconciliation_exception_reason_check CHECK ((length(reason) > 0)),
  CONSTRAINT reconciliation_exception_resolution_check CHECK ((resolution = ANY (ARRAY['booked'::text, 'explained'::text, 'vanished'::text]))),
  CONSTRAINT reconciliation_exception_transfer_fkey FOREIGN KEY (transfer) REFERENCES hub.transfer(id)
);
CREATE INDEX exception_entry ON hub.reconciliation_exception USING btree (entry);
CREATE UNIQUE INDEX exception_open ON hub.reconciliation_exception USING btree (fact) WHERE (resolved_at IS NULL);
CREATE INDEX exception_transfer ON hub.reconciliation_exception USING btree (transfer);
CREATE TRIGGER keep BEFORE UPDATE ON hub.reconciliation_exception FOR EACH ROW EXECUTE FUNCTION hub.keep_exception();
CREATE TRIGGER keep_row BEFORE DELETE ON hub.reconciliation_exception FOR EACH ROW EXECUTE FUNCTION hub.keep_row();
CREATE TRIGGER keep_table BEFORE TRUNCATE ON hub.reconciliation_exception FOR EACH STATEMENT EXECUTE FUNCTION hub.keep_row();
GRANT INSERT, SELECT ON hub.reconciliation_exception TO hub_app;
GRANT UPDATE ON hub.reconciliation_exception(seen_at) TO hub_app;
GRANT UPDATE ON hub.reconciliation_exception(resolved_at) TO hub_app;
GRANT UPDATE ON hub.reconciliation_exception(resolution) TO hub_app;
GRANT UPDATE ON hub.reconciliation_exception(author) TO hub_app;
GRANT UPDATE ON hub.reconciliation_exception(explanation) TO hub_app;
GRANT UPDATE ON hub.reconciliation_exception(answer) TO hub_app;
GRANT UPDATE ON hub.reconciliation_exception(answer_id) TO hub_app;

CREATE TABLE hub.role (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  principal text NOT NULL,
  role text NOT NULL,
  granted_by text NOT NULL,
  granted_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  revoked_by text,
  revoked_at timestamp with time zone,
  granter text,
  by_configured boolean DEFAULT true NOT NULL,
  effective_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  confirmer text,
  confirmed_by text,
  confirmed_at timestamp with time zone,
  CONSTRAINT role_pkey PRIMARY KEY (id),
  CONSTRAINT role_check CHECK ((num_nulls(revoked_by, revoked_at) = ANY (ARRAY[0, 2]))),
  CONSTRAINT role_check1 CHECK ((num_nulls(confirmer, confirmed_by, confirmed_at) = ANY (ARRAY[0, 3]))),
  CONSTRAINT role_check2 CHECK ((confirmer <> granter)),
  CONSTRAINT role_confirmed_by_check CHECK ((confirmed_by <> ''::text)),
  CONSTRAINT role_confirmer_fkey FOREIGN KEY (confirmer) REFERENCES hub.principal(id),
  CONSTRAINT role_granted_by_check CHECK ((granted_by <> ''::text)),
  CONSTRAINT role_granter_fkey FOREIGN KEY (granter) REFERENCES hub.principal(id),
  CONSTRAINT role_principal_fkey FOREIGN KEY (principal) REFERENCES hub.principal(id),
  CONSTRAINT role_revoked_by_check CHECK ((revoked_by <> ''::text)),
  CONSTRAINT role_role_check CHECK ((role = ANY (ARRAY['admin'::text, 'finance'::text, 'auditor'::text])))
);
CREATE UNIQUE INDEX role_held ON hub.role USING btree (principal, role) WHERE (revoked_at IS NULL);
CREATE TRIGGER keep BEFORE UPDATE ON hub.role FOR EACH ROW EXECUTE FUNCTION hub.keep_role();
CREATE TRIGGER keep_row BEFORE DELETE ON hub.role FOR EACH ROW EXECUTE FUNCTION hub.keep_row();
CREATE TRIGGER keep_table BEFORE TRUNCATE ON hub.role FOR EACH STATEMENT EXECUTE FUNCTION hub.keep_row();
GRANT SELECT ON hub.role TO hub_app;
GRANT UPDATE ON hub.role(revoked_by) TO hub_app;
GRANT UPDATE ON hub.role(revoked_at) TO hub_app;

CREATE TABLE hub.search_document (
  kind text NOT NULL,
  id text NOT NULL,
  name text NOT NULL,
  provider text NOT NULL,
  category text NOT NULL,
  tags text[] NOT NULL,
  description text NOT NULL,
  words text NOT NULL,
  networks text[] NOT NULL,
  price bigint NOT NULL,
  state text NOT NULL,
  listed_at timestamp with time zone NOT NULL,
  verified_at timestamp with time zone,
  uptime real,
  latency_ms integer,
  calls integer DEFAULT 0 NOT NULL,
  delivered integer DEFAULT 0 NOT NULL,
  sellers text[],
  p95_ms integer,
  CONSTRAINT search_document_pkey PRIMARY KEY (kind, id),
  CONSTRAINT search_document_kind_check CHECK ((kind = ANY (ARRAY['native'::text, 'external'::text]))),
  CONSTRAINT search_document_state_check CHECK ((state = ANY (ARRAY['active'::text, 'degraded'::text])))
) WITH (fillfactor=80);
CREATE INDEX search_document_calls ON hub.search_document USING btree (((- calls)), kind, id);
CREATE INDEX search_document_facts ON hub.search_document USING btree (kind, category, price, uptime, calls, p95_ms, id);
CREATE INDEX search_document_latency ON hub.search_document USING btree (COALESCE(p95_ms, 2147483647), kind, id);
CREATE INDEX search_document_price ON hub.search_document USING btree (price, kind, id);
CREATE INDEX search_document_uptime ON hub.search_document USING btree (((- COALESCE(uptime, ('-1'::integer)::real))), kind, id);
CREATE TRIGGER search_added AFTER INSERT ON hub.search_document REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION hub.search_added();
CREATE TRIGGER search_changed AFTER UPDATE ON hub.search_document REFERENCING OLD TABLE AS former NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION hub.search_changed();
GRANT SELECT ON hub.search_document TO hub_app;

CREATE TABLE hub.search_entry (
  doc integer GENERATED ALWAYS AS IDENTITY NOT NULL,
  version bigint DEFAULT hub.search_version() NOT NULL,
  kind text NOT NULL,
  id text NOT NULL,
  names text[] NOT NULL,
  vector tsvector NOT NULL,
  places smallint NOT NULL,
  name_words smallint NOT NULL,
  category text NOT NULL,
  tags text[] NOT NULL,
  networks text[] NOT NULL,
  price bigint NOT NULL,
  quality smallint NOT NULL,
  listed_at timestamp with time zone NOT NULL,
  verified_at timestamp with time zone,
  latency_ms integer,
  calls integer NOT NULL,
  delivered integer NOT NULL,
  text_hash bytea NOT NULL,
  sellers text[],
  CONSTRAINT search_entry_pkey PRIMARY KEY (doc) INCLUDE (kind, category, price),
  CONSTRAINT search_entry_kind_id_fkey FOREIGN KEY (kind, id) REFERENCES hub.search_document(kind, id) ON DELETE CASCADE,
  CONSTRAINT search_entry_kind_id_key UNIQUE (kind, id)
) WITH (fillfactor=80);
CREATE INDEX search_entry_category ON hub.search_entry USING btree (category, price, doc) INCLUDE (kind);
CREATE INDEX search_entry_names ON hub.search_entry USING gin (names);
CREATE INDEX search_entry_networks ON hub.search_entry USING gin (networks);
CREATE INDEX search_entry_price ON hub.search_entry USING btree (price, doc) INCLUDE (kind);
CREATE INDEX search_entry_quality ON hub.search_entry USING btree (quality, doc);
CREATE INDEX search_entry_tags ON hub.search_entry USING gin (tags);
CREATE TRIGGER search_removed BEFORE DELETE ON hub.search_entry FOR EACH ROW EXECUTE FUNCTION hub.search_removed();
GRANT SELECT ON hub.search_entry TO hub_app;

CREATE TABLE hub.search_meaning (
  model text NOT NULL,
  text_hash bytea NOT NULL,
  vector bytea NOT NULL,
  CONSTRAINT search_meaning_pkey PRIMARY KEY (model, text_hash),
  CONSTRAINT search_meaning_vector_check CHECK (((length(vector) >= 1) AND (length(vector) <= 8192)))
);
GRANT DELETE, INSERT, SELECT ON hub.search_meaning TO hub_app;

CREATE TABLE hub.search_posting (
  term text COLLATE "C" NOT NULL,
  impact smallint NOT NULL,
  doc integer NOT NULL,
  CONSTRAINT search_posting_pkey PRIMARY KEY (term, impact, doc)
);
GRANT SELECT ON hub.search_posting TO hub_app;

CREATE TABLE hub.search_term (
  term text COLLATE "C" NOT NULL,
  version bigint DEFAULT hub.search_version() NOT NULL,
  documents integer NOT NULL,
  CONSTRAINT search_term_pkey PRIMARY KEY (term),
  CONSTRAINT search_term_documents_check CHECK ((documents >= 0))
) WITH (fillfactor=80);
CREATE INDEX search_term_spelling ON hub.search_term USING gin (term public.gin_trgm_ops) WHERE (term !~ '[0-9]'::text);
GRANT SELECT ON hub.search_term TO hub_app;

CREATE TABLE hub.sent_payment (
  payment bytea NOT NULL,
  hash hub.hash NOT NULL,
  CONSTRAINT sent_payment_pkey PRIMARY KEY (payment),
  CONSTRAINT sent_payment_hash_fkey FOREIGN KEY (hash) REFERENCES hub.sent_transaction(hash) ON DELETE CASCADE,
  CONSTRAINT sent_payment_payment_check CHECK ((length(payment) = 32))
);
CREATE INDEX sent_payment_hash ON hub.sent_payment USING btree (hash);
GRANT DELETE, INSERT, SELECT ON hub.sent_payment TO hub_app;

CREATE TABLE hub.sent_transaction (
  hash hub.hash NOT NULL,
  chain_id integer NOT NULL,
  sender hub.address NOT NULL,
  nonce integer NOT NULL,
  raw bytea NOT NULL,
  kept_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  mined_at timestamp with time zone,
  wei bigint,
  gwei bigint,
  worth bigint,
  eth_price bigint,
  CONSTRAINT sent_transaction_pkey PRIMARY KEY (hash),
  CONSTRAINT sent_transaction_check CHECK ((num_nulls(mined_at, wei, gwei, worth) = ANY (ARRAY[0, 4]))),
  CONSTRAINT sent_transaction_eth_price_check CHECK ((eth_price > 0)),
  CONSTRAINT sent_transaction_gwei_check CHECK ((gwei >= 0)),
  CONSTRAINT sent_transaction_wei_check CHECK ((wei >= 0)),
  CONSTRAINT sent_transaction_worth_check CHECK ((worth >= 0))
);
CREATE INDEX sent_transaction_number ON hub.sent_transaction USING btree (chain_id, sender, nonce);
GRANT DELETE, INSERT, SELECT, UPDATE ON hub.sent_transaction TO hub_app;

CREATE TABLE hub.service (
  slug text NOT NULL,
  name text NOT NULL,
  category text NOT NULL,
  summary text NOT NULL,
  provider text NOT NULL,
  free_calls_per_month integer NOT NULL,
  state text NOT NULL,
  listed_at timestamp with time zone DEFAULT now() NOT NULL,
  updated_at timestamp with time zone DEFAULT now() NOT NULL,
  family text,
  digest text,
  suspended_at timestamp with time zone,
  suspended_reason text,
  held_back boolean DEFAULT false NOT NULL,
  free_units jsonb DEFAULT '{}'::jsonb NOT NULL,
  CONSTRAINT service_pkey PRIMARY KEY (slug),
  CONSTRAINT service_category_check CHECK ((category ~ '^[a-z][a-z0-9-]{0,39}$'::text)),
  CONSTRAINT service_check CHECK ((num_nulls(suspended_at, suspended_reason) = ANY (ARRAY[0, 2]))),
  CONSTRAINT service_digest CHECK (((family IS NOT NULL) OR (digest IS NULL))),
  CONSTRAINT service_family_check CHECK ((family ~ '^[a-z0-9][a-z0-9-]{0,38}[a-z0-9]$'::text)),
  CONSTRAINT service_free_calls_per_month_check CHECK ((free_calls_per_month >= 0)),
  CONSTRAINT service_free_units_check CHECK ((jsonb_typeof(free_units) = 'object'::text)),
  CONSTRAINT service_name_check CHECK (((length(name) >= 1) AND (length(name) <= 100))),
  CONSTRAINT service_provider_fkey FOREIGN KEY (provider) REFERENCES hub.provider(id),
  CONSTRAINT service_slug_check CHECK ((slug ~ '^[a-z0-9][a-z0-9-]{0,38}[a-z0-9]$'::text)),
  CONSTRAINT service_state_check CHECK ((state = ANY (ARRAY['active'::text, 'unlisted'::text, 'retired'::text]))),
  CONSTRAINT service_summary_check CHECK (((length(summary) >= 1) AND (length(summary) <= 500))),
  CONSTRAINT service_suspended_reason_check CHECK (((length(suspended_reason) >= 1) AND (length(suspended_reason) <= 500)))
);
CREATE INDEX service_category ON hub.service USING btree (category, slug) WHERE (state = 'active'::text);
CREATE INDEX service_family ON hub.service USING btree (family, slug) WHERE ((family IS NOT NULL) AND (state = 'active'::text));
CREATE INDEX service_name_look ON hub.service USING btree (translate(hub.search_squashed(name), '01'::text, 'ol'::text)) WHERE (state = 'active'::text);
CREATE INDEX service_provider ON hub.service USING btree (provider, slug);
CREATE INDEX service_suspended ON hub.service USING btree (slug) WHERE (suspended_at IS NOT NULL);
CREATE TRIGGER hold_back BEFORE INSERT OR UPDATE ON hub.service FOR EACH ROW EXECUTE FUNCTION hub.hold_back();
GRANT INSERT, SELECT, UPDATE ON hub.service TO hub_app;

CREATE TABLE hub.service_day (
  service text NOT NULL,
  day date NOT NULL,
  calls bigint NOT NULL,
  up bigint NOT NULL,
  delivered bigint NOT NULL,
  failed bigint NOT NULL,
  latency_ms bigint NOT NULL,
  weight double precision,
  up_weight double precision,
  CONSTRAINT service_day_pkey PRIMARY KEY (service, day),
  CONSTRAINT service_day_check CHECK (((up_weight >= (0)::double precision) AND (up_weight <= weight))),
  CONSTRAINT service_day_check1 CHECK (((weight IS NULL) = (up_weight IS NULL))),
  CONSTRAINT service_day_weight_check CHECK ((weight > (0)::double precision))
);
CREATE INDEX service_day_day ON hub.service_day USING btree (day);
GRANT SELECT ON hub.service_day TO hub_app;

CREATE TABLE hub.session (
  id text NOT NULL,
  hash bytea NOT NULL,
  person text NOT NULL,
  agent text NOT NULL,
  network text NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  used_at timestamp with time zone DEFAULT now() NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  CONSTRAINT session_pkey PRIMARY KEY (id),
  CONSTRAINT session_agent_check CHECK ((length(agent) <= 200)),
  CONSTRAINT session_hash_check CHECK ((length(hash) = 32)),
  CONSTRAINT session_hash_key UNIQUE (hash),
  CONSTRAINT session_id_check CHECK ((id ~ '^ses_[0-9A-Za-z]{16}$'::text)),
  CONSTRAINT session_person_fkey FOREIGN KEY (person) REFERENCES hub.principal(id) NOT VALID
);
CREATE INDEX session_expiry ON hub.session USING btree (expires_at);
CREATE INDEX session_person ON hub.session USING btree (person, created_at);
CREATE TRIGGER announce AFTER INSERT ON hub.session FOR EACH STATEMENT EXECUTE FUNCTION hub.announce_credential();
GRANT DELETE, INSERT, SELECT, UPDATE ON hub.session TO hub_app;

CREATE TABLE hub.spending (
  payer text NOT NULL,
  day date NOT NULL,
  endpoint integer NOT NULL,
  calls bigint NOT NULL,
  charged bigint NOT NULL,
  free_calls bigint NOT NULL,
  failed bigint NOT NULL,
  released bigint NOT NULL,
  refunded bigint NOT NULL,
  CONSTRAINT spending_pkey PRIMARY KEY (payer, day, endpoint)
) WITH (fillfactor=70);
GRANT DELETE, INSERT, SELECT, UPDATE ON hub.spending TO hub_app;

CREATE TABLE hub.staff_act (
  id uuid NOT NULL,
  kind text NOT NULL,
  subject text NOT NULL,
  terms jsonb NOT NULL,
  accounts text[] NOT NULL,
  exposure bigint NOT NULL,
  alone_max bigint,
  reason text NOT NULL,
  proposed_by text NOT NULL,
  proposer text NOT NULL,
  person text[] NOT NULL,
  proposed_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  state text NOT NULL,
  decided_by text,
  decider text,
  decided_at timestamp with time zone,
  note text,
  CONSTRAINT staff_act_pkey PRIMARY KEY (id),
  CONSTRAINT staff_act_alone_max_check CHECK ((alone_max >= 0)),
  CONSTRAINT staff_act_check CHECK (((state = 'proposed'::text) = (decided_at IS NULL))),
  CONSTRAINT staff_act_check1 CHECK ((num_nulls(decided_by, decider, note) = ANY (ARRAY[0, 3]))),
  CONSTRAINT staff_act_check2 CHECK (((state <> 'proposed'::text) OR (decider IS NULL))),
  CONSTRAINT staff_act_check3 CHECK (((state <> 'declined'::text) OR (decider IS NOT NULL))),
  CONSTRAINT staff_act_check4 CHECK (((state <> 'booked'::text) OR (decider <> ALL (person)))),
  CONSTRAINT staff_act_decider_fkey FOREIGN KEY (decider) REFERENCES hub.principal(id),
  CONSTRAINT staff_act_exposure_check CHECK ((exposure >= 0)),
  CONSTRAINT staff_act_kinds CHECK ((kind = ANY (ARRAY['adjustment'::text, 'refund'::text, 'exception'::text, 'transfer'::text, 'provider'::text, 'write-off'::text, 'recovery'::text, 'period'::text, 'breakage'::text, 'revaluation'::text]))),
  CONSTRAINT staff_act_note_check CHECK (((length(TRIM(BOTH FROM note)) >= 1) AND (length(TRIM(BOTH FROM note)) <= 500))),
  CONSTRAINT staff_act_proposer_fkey FOREIGN KEY (proposer) REFERENCES hub.principal(id),
  CONSTRAINT staff_act_reason_check CHECK (((length(TRIM(BOTH FROM reason)) >= 1) AND (length(TRIM(BOTH FROM reason)) <= 500))),
  CONSTRAINT staff_act_state_check CHECK ((state = ANY (ARRAY['proposed'::text, 'booked'::text, 'declined'::text]))),
  CONSTRAINT staff_act_subject_check CHECK ((subject <> ''::text)),
  CONSTRAINT staff_act_two_people CHECK (((kind <> ALL (ARRAY['period'::text, 'breakage'::text])) OR (state <> 'booked'::text) OR (decider IS NOT NULL)))
);
CREATE INDEX staff_act_alone ON hub.staff_act USING btree (proposed_at) WHERE ((state = 'booked'::text) AND (decider IS NULL));
CREATE UNIQUE INDEX staff_act_once ON hub.staff_act USING btree (kind, subject) WHERE (state = 'proposed'::text);
CREATE INDEX staff_act_open ON hub.staff_act USING btree (id) WHERE (state = 'proposed'::text);
CREATE TRIGGER keep BEFORE UPDATE ON hub.staff_act FOR EACH ROW EXECUTE FUNCTION hub.keep_staff_act();
CREATE TRIGGER keep_row BEFORE DELETE ON hub.staff_act FOR EACH ROW EXECUTE FUNCTION hub.keep_row();
CREATE TRIGGER keep_table BEFORE TRUNCATE ON hub.staff_act FOR EACH STATEMENT EXECUTE FUNCTION hub.keep_row();
GRANT SELECT ON hub.staff_act TO hub_app;

CREATE TABLE hub.sub_key_naming (
  single boolean DEFAULT true NOT NULL,
  since timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT sub_key_naming_pkey PRIMARY KEY (single),
  CONSTRAINT sub_key_naming_single_check CHECK (single)
);
GRANT SELECT ON hub.sub_key_naming TO hub_app;

CREATE TABLE hub.transfer (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  wallet hub.wallet NOT NULL,
  tx hub.hash NOT NULL,
  log_index integer NOT NULL,
  block bigint NOT NULL,
  block_hash hub.hash NOT NULL,
  sender hub.address NOT NULL,
  recipient hub.address NOT NULL,
  amount bigint NOT NULL,
  entry bigint,
  gone_at timestamp with time zone,
  seen_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  CONSTRAINT transfer_pkey PRIMARY KEY (id),
  CONSTRAINT transfer_amount_check CHECK ((amount <> 0)),
  CONSTRAINT transfer_block_hash_log_index_amount_key UNIQUE (block_hash, log_index, amount),
  CONSTRAINT transfer_entry_wallet_tx_amount_fkey FOREIGN KEY (entry, wallet, tx, amount) REFERENCES hub.wallet_entry(id, wallet, tx, amount)
);
CREATE INDEX transfer_block ON hub.transfer USING btree (wallet, block);
CREATE UNIQUE INDEX transfer_entry ON hub.transfer USING btree (entry) WHERE (gone_at IS NULL);
CREATE INDEX transfer_gone ON hub.transfer USING btree (entry) WHERE (gone_at IS NOT NULL);
CREATE INDEX transfer_tx ON hub.transfer USING btree (tx, wallet);
CREATE INDEX transfer_unmatched ON hub.transfer USING btree (wallet) WHERE ((entry IS NULL) AND (gone_at IS NULL));
CREATE TRIGGER keep_row BEFORE DELETE ON hub.transfer FOR EACH ROW EXECUTE FUNCTION hub.keep_row();
CREATE TRIGGER keep_table BEFORE TRUNCATE ON hub.transfer FOR EACH STATEMENT EXECUTE FUNCTION hub.keep_row();
GRANT INSERT, SELECT ON hub.transfer TO hub_app;
GRANT UPDATE ON hub.transfer(entry) TO hub_app;
GRANT UPDATE ON hub.transfer(gone_at) TO hub_app;

CREATE TABLE hub.unresolved (
  scope text NOT NULL,
  amount bigint NOT NULL,
  CONSTRAINT unresolved_pkey PRIMARY KEY (scope),
  CONSTRAINT unresolved_amount_check CHECK ((amount >= 0)),
  CONSTRAINT unresolved_scope_check CHECK ((scope ~ '^(principal:.+|pay_to:0x[0-9a-f]{40}|host:.+)$'::text))
);
GRANT SELECT ON hub.unresolved TO hub_app;

CREATE TABLE hub.upstream (
  slug text NOT NULL,
  owner text NOT NULL,
  provider text NOT NULL,
  name text NOT NULL,
  category text NOT NULL,
  summary text NOT NULL,
  base_url text NOT NULL,
  free_calls_per_month integer NOT NULL,
  request_headers text[] NOT NULL,
  response_headers text[] NOT NULL,
  health_path text NOT NULL,
  state text DEFAULT 'draft'::text NOT NULL,
  reason text,
  activated_at timestamp with time zone,
  deprecated_on date,
  sunset_on date,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  updated_at timestamp with time zone DEFAULT now() NOT NULL,
  tested_at timestamp with time zone,
  tests smallint DEFAULT 0 NOT NULL,
  tests_waived_at timestamp with time zone,
  CONSTRAINT upstream_pkey PRIMARY KEY (slug),
  CONSTRAINT upstream_base_url_check CHECK (((base_url ~ '^https?://[^/?#@\s]+(/[^?#\s]*[^/?#\s])?$'::text) AND (length(base_url) <= 500))),
  CONSTRAINT upstream_category_check CHECK ((category ~ '^[a-z][a-z0-9-]{0,39}$'::text)),
  CONSTRAINT upstream_check CHECK ((sunset_on >= deprecated_on)),
  CONSTRAINT upstream_check1 CHECK (((state = 'suspended'::text) = (reason IS NOT NULL))),
  CONSTRAINT upstream_check2 CHECK (((deprecated_on IS NULL) = (sunset_on IS NULL))),
  CONSTRAINT upstream_check3 CHECK (((state <> 'active'::text) OR (activated_at IS NOT NULL))),
  CONSTRAINT upstream_free_calls_per_month_check CHECK (((free_calls_per_month >= 0) AND (free_calls_per_month <= 1000000))),
  CONSTRAINT upstream_health_path_check CHECK (((health_path ~ '^/'::text) AND (length(health_path) <= 500))),
  CONSTRAINT upstream_name_check CHECK (((length(name) >= 1) AND (length(name) <= 100))),
  CONSTRAINT upstream_owner_fkey FOREIGN KEY (owner) REFERENCES hub.principal(id),
  CONSTRAINT upstream_provider_fkey FOREIGN KEY (provider) REFERENCES hub.provider(id),
  CONSTRAINT upstream_reason_check CHECK (((length(reason) >= 1) AND (length(reason) <= 500))),
  CONSTRAINT upstream_request_headers_check CHECK ((cardinality(request_headers) <= 20)),
  CONSTRAINT upstream_response_headers_check CHECK ((cardinality(response_headers) <= 20)),
  CONSTRAINT upstream_slug_fkey FOREIGN KEY (slug) REFERENCES hub.service(slug),
  CONSTRAINT upstream_state_check CHECK ((state = ANY (ARRAY['draft'::text, 'pending'::text, 'active'::text, 'paused'::text, 'suspended'::text, 'retired'::text]))),
  CONSTRAINT upstream_summary_check CHECK (((length(summary) >= 1) AND (length(summary) <= 500)))
);
CREATE INDEX upstream_owner ON hub.upstream USING btree (owner, slug);
CREATE INDEX upstream_sold ON hub.upstream USING btree (slug) WHERE (state = 'active'::text);
CREATE INDEX upstream_sunset ON hub.upstream USING btree (sunset_on) WHERE ((state <> 'retired'::text) AND (sunset_on IS NOT NULL));
CREATE TRIGGER upstream_step BEFORE UPDATE OF state ON hub.upstream FOR EACH ROW EXECUTE FUNCTION hub.upstream_step();
GRANT INSERT, SELECT, UPDATE ON hub.upstream TO hub_app;

CREATE TABLE hub.upstream_endpoint (
  service text NOT NULL,
  method text NOT NULL,
  path text NOT NULL,
  "position" smallint NOT NULL,
  upstream_path text NOT NULL,
  summary text NOT NULL,
  input jsonb NOT NULL,
  output jsonb,
  query text[] NOT NULL,
  body text NOT NULL,
  success smallint[] NOT NULL,
  passes smallint[] NOT NULL,
  deadline_seconds smallint NOT NULL,
  max_bytes integer NOT NULL,
  streams boolean NOT NULL,
  idempotent boolean NOT NULL,
  retries smallint NOT NULL,
  listed boolean DEFAULT true NOT NULL,
  encoding jsonb,
  charges smallint[] DEFAULT '{}'::smallint[] NOT NULL,
  CONSTRAINT upstream_endpoint_pkey PRIMARY KEY (service, method, path),
  CONSTRAINT upstream_endpoint_body_check CHECK ((body = ANY (ARRAY['none'::text, 'json'::text, 'form'::text, 'multipart'::text, 'text'::text, 'binary'::text]))),
  CONSTRAINT upstream_endpoint_check CHECK ((((retries >= 0) AND (retries <= 3)) AND (idempotent OR (retries = 0)))),
  CONSTRAINT upstream_endpoint_check1 CHECK ((charges <@ passes)),
  CONSTRAINT upstream_endpoint_deadline_seconds_check CHECK (((deadline_seconds >= 1) AND (deadline_seconds <= 300))),
  CONSTRAINT upstream_endpoint_encoding_check CHECK ((jsonb_typeof(encoding) = 'object'::text)),
  CONSTRAINT upstream_endpoint_input_check CHECK (((input ->> 'type'::text) = 'object'::text)),
  CONSTRAINT upstream_endpoint_max_bytes_check CHECK (((max_bytes >= 1024) AND (max_bytes <= 33554432))),
  CONSTRAINT upstream_endpoint_method_check CHECK ((method = ANY (ARRAY['GET'::text, 'POST'::text, 'PUT'::text, 'PATCH'::text, 'DELETE'::text]))),
  CONSTRAINT upstream_endpoint_passes_check CHECK (((400 <= ALL (passes)) AND (599 >= ALL (passes)))),
  CONSTRAINT upstream_endpoint_path_check CHECK (((path ~ '^/'::text) AND (length(path) <= 300))),
  CONSTRAINT upstream_endpoint_position_check CHECK ((("position" >= 0) AND ("position" <= 99))),
  CONSTRAINT upstream_endpoint_service_fkey FOREIGN KEY (service) REFERENCES hub.upstream(slug),
  CONSTRAINT upstream_endpoint_success_check CHECK (((cardinality(success) > 0) AND (200 <= ALL (success)) AND (299 >= ALL (success)))),
  CONSTRAINT upstream_endpoint_summary_check CHECK (((length(summary) >= 1) AND (length(summary) <= 500))),
  CONSTRAINT upstream_endpoint_upstream_path_check CHECK (((upstream_path ~ '^/'::text) AND (length(upstream_path) <= 300)))
);
GRANT INSERT, SELECT, UPDATE ON hub.upstream_endpoint TO hub_app;

CREATE TABLE hub.upstream_health (
  service text NOT NULL,
  up boolean,
  since timestamp with time zone DEFAULT now() NOT NULL,
  checked_at timestamp with time zone,
  latency_ms integer,
  detail text,
  failures integer DEFAULT 0 NOT NULL,
  next_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT upstream_health_pkey PRIMARY KEY (service),
  CONSTRAINT upstream_health_detail_check CHECK ((length(detail) <= 100)),
  CONSTRAINT upstream_health_service_fkey FOREIGN KEY (service) REFERENCES hub.upstream(slug)
);
CREATE INDEX upstream_health_due ON hub.upstream_health USING btree (next_at);
GRANT INSERT, SELECT, UPDATE ON hub.upstream_health TO hub_app;

CREATE TABLE hub.upstream_import (
  service text NOT NULL,
  at timestamp with time zone DEFAULT now() NOT NULL,
  report jsonb NOT NULL,
  CONSTRAINT upstream_import_pkey PRIMARY KEY (service),
  CONSTRAINT upstream_import_report_check CHECK (((jsonb_typeof(report) = 'object'::text) AND (length((report)::text) <= 300000))),
  CONSTRAINT upstream_import_service_fkey FOREIGN KEY (service) REFERENCES hub.upstream(slug) ON DELETE CASCADE
);
GRANT INSERT, SELECT ON hub.upstream_import TO hub_app;

CREATE TABLE hub.upstream_price (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  service text NOT NULL,
  method text NOT NULL,
  path text NOT NULL,
  amount bigint NOT NULL,
  set_at timestamp with time zone DEFAULT now() NOT NULL,
  effective_at timestamp with time zone NOT NULL,
  withdrawn_at timestamp with time zone,
  metered jsonb,
  CONSTRAINT upstream_price_pkey PRIMARY KEY (id),
  CONSTRAINT upstream_price_amount_check CHECK (((amount >= 0) AND (amount <= 1000000000))),
  CONSTRAINT upstream_price_check CHECK ((effective_at >= set_at)),
  CONSTRAINT upstream_price_check1 CHECK ((withdrawn_at < effective_at)),
  CONSTRAINT upstream_price_metered CHECK (((metered IS NULL) OR (((jsonb_typeof(metered) = 'object'::text) AND ((metered ->> 'unit'::text) ~ '^[a-z][a-z0-9-]{0,31}$'::text) AND ((((metered ->> 'amount'::text))::numeric >= (1)::numeric) AND (((metered ->> 'amount'::text))::numeric <= (1000000000)::numeric)) AND ((((metered ->> 'per'::text))::numeric >= (1)::numeric) AND (((metered ->> 'per'::text))::numeric <= (1000000000)::numeric)) AND ((metered ->> 'ifAbsent'::text) = ANY (ARRAY['fail'::text, 'maximum'::text, 'free'::text])) AND ((metered ? 'header'::text) <> (metered ? 'pointer'::text)) AND (((amount)::numeric * ((metered ->> 'per'::text))::numeric) >= ((metered ->> 'amount'::text))::numeric)) IS TRUE))),
  CONSTRAINT upstream_price_service_method_path_fkey FOREIGN KEY (service, method, path) REFERENCES hub.upstream_endpoint(service, method, path)
);
CREATE INDEX upstream_price_of ON hub.upstream_price USING btree (service, method, path, effective_at DESC, id DESC) WHERE (withdrawn_at IS NULL);
CREATE INDEX upstream_price_service ON hub.upstream_price USING btree (service, id);
GRANT INSERT, SELECT ON hub.upstream_price TO hub_app;
GRANT UPDATE ON hub.upstream_price(withdrawn_at) TO hub_app;

CREATE TABLE hub.upstream_secret (
  service text NOT NULL,
  place text NOT NULL,
  name text NOT NULL,
  key_id text NOT NULL,
  sealed bytea NOT NULL,
  set_at timestamp with time zone DEFAULT now() NOT NULL,
  origin text NOT NULL,
  listed boolean DEFAULT true NOT NULL,
  CONSTRAINT upstream_secret_pkey PRIMARY KEY (service, origin, place, name),
  CONSTRAINT upstream_secret_key_id_check CHECK ((key_id ~ '^[A-Za-z0-9_-]{1,64}$'::text)),
  CONSTRAINT upstream_secret_name_check CHECK (((length(name) >= 1) AND (length(name) <= 100))),
  CONSTRAINT upstream_secret_place_check CHECK ((place = ANY (ARRAY['header'::text, 'query'::text, 'oauth2'::text]))),
  CONSTRAINT upstream_secret_sealed_check CHECK (((length(sealed) >= 28) AND (length(sealed) <= 8300))),
  CONSTRAINT upstream_secret_service_fkey FOREIGN KEY (service) REFERENCES hub.upstream(slug)
);
CREATE INDEX upstream_secret_key ON hub.upstream_secret USING btree (key_id);
GRANT DELETE, INSERT, SELECT, UPDATE ON hub.upstream_secret TO hub_app;

CREATE TABLE hub.used_agent_nonce (
  id bytea NOT NULL,
  used_at timestamp with time zone DEFAULT now() NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  CONSTRAINT used_agent_nonce_pkey PRIMARY KEY (id),
  CONSTRAINT used_agent_nonce_check CHECK ((expires_at <= (used_at + '25:00:00'::interval))),
  CONSTRAINT used_agent_nonce_id_check CHECK ((octet_length(id) = 32))
);
CREATE INDEX used_agent_nonce_expiry ON hub.used_agent_nonce USING btree (expires_at);
GRANT DELETE, INSERT, SELECT ON hub.used_agent_nonce TO hub_app;

CREATE TABLE hub.used_sign_in (
  nonce bytea NOT NULL,
  used_at timestamp with time zone DEFAULT now() NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  CONSTRAINT used_sign_in_pkey PRIMARY KEY (nonce),
  CONSTRAINT used_sign_in_check CHECK (((expires_at > used_at) AND (expires_at <= (used_at + '00:10:00'::interval)))),
  CONSTRAINT used_sign_in_nonce_check CHECK ((octet_length(nonce) = 32))
);
CREATE INDEX used_sign_in_expiry ON hub.used_sign_in USING btree (expires_at);
GRANT DELETE, INSERT, SELECT ON hub.used_sign_in TO hub_app;

CREATE TABLE hub.wallet_deposit (
  id uuid NOT NULL,
  wallet text NOT NULL,
  amount bigint NOT NULL,
  credited_to text,
  is_suspended boolean NOT NULL,
  credited_at timestamp with time zone,
  at timestamp with time zone DEFAULT now() NOT NULL,
  refund_at timestamp with time zone,
  CONSTRAINT wallet_deposit_pkey PRIMARY KEY (id),
  CONSTRAINT wallet_deposit_amount_check CHECK ((amount > 0)),
  CONSTRAINT wallet_deposit_check CHECK (((credited_to IS NOT NULL) OR is_suspended)),
  CONSTRAINT wallet_deposit_check1 CHECK (((credited_at IS NULL) OR (credited_to IS NOT NULL))),
  CONSTRAINT wallet_deposit_id_fkey FOREIGN KEY (id) REFERENCES hub.payment_claim(id),
  CONSTRAINT wallet_deposit_wallet_check CHECK ((wallet ~ '^0x[0-9a-f]{40}$'::text))
);
CREATE INDEX wallet_deposit_open ON hub.wallet_deposit USING btree (at) WHERE (credited_at IS NULL);
CREATE INDEX wallet_deposit_refund ON hub.wallet_deposit USING btree (refund_at) WHERE (refund_at IS NOT NULL);
GRANT INSERT, SELECT ON hub.wallet_deposit TO hub_app;
GRANT UPDATE ON hub.wallet_deposit(credited_to) TO hub_app;
GRANT UPDATE ON hub.wallet_deposit(credited_at) TO hub_app;
GRANT UPDATE ON hub.wallet_deposit(refund_at) TO hub_app;

CREATE TABLE hub.wallet_entry (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  wallet hub.wallet NOT NULL,
  shard smallint NOT NULL,
  seq bigint NOT NULL,
  owner bigint NOT NULL,
  entry uuid NOT NULL,
  phase smallint NOT NULL,
  event text NOT NULL,
  amount bigint NOT NULL,
  transit bigint NOT NULL,
  tx hub.hash,
  payer hub.address,
  opens_at bigint,
  exception bigint,
  answers bigint,
  at timestamp with time zone NOT NULL,
  matched boolean DEFAULT false NOT NULL,
  CONSTRAINT wallet_entry_pkey PRIMARY KEY (id),
  CONSTRAINT wallet_entry_answers_fkey FOREIGN KEY (answers) REFERENCES hub.reconciliation_exception(id),
  CONSTRAINT wallet_entry_answers_key UNIQUE (answers),
  CONSTRAINT wallet_entry_id_wallet_tx_amount_key UNIQUE (id, wallet, tx, amount),
  CONSTRAINT wallet_entry_shard_seq_wallet_key UNIQUE (shard, seq, wallet)
);
CREATE INDEX wallet_entry_entry ON hub.wallet_entry USING btree (entry);
CREATE INDEX wallet_entry_exception ON hub.wallet_entry USING btree (exception) WHERE (exception IS NOT NULL);
CREATE INDEX wallet_entry_transit ON hub.wallet_entry USING btree (entry) WHERE (transit <> 0);
CREATE INDEX wallet_entry_unmatched ON hub.wallet_entry USING btree (wallet) WHERE ((NOT matched) AND (amount <> 0));
CREATE TRIGGER keep_row BEFORE DELETE ON hub.wallet_entry FOR EACH ROW EXECUTE FUNCTION hub.keep_row();
CREATE TRIGGER keep_table BEFORE TRUNCATE ON hub.wallet_entry FOR EACH STATEMENT EXECUTE FUNCTION hub.keep_row();
GRANT INSERT, SELECT ON hub.wallet_entry TO hub_app;
GRANT UPDATE ON hub.wallet_entry(transit) TO hub_app;
GRANT UPDATE ON hub.wallet_entry(tx) TO hub_app;
GRANT UPDATE ON hub.wallet_entry(answers) TO hub_app;
GRANT UPDATE ON hub.wallet_entry(matched) TO hub_app;

CREATE TABLE hub.wallet_link (
  wallet text NOT NULL,
  person text NOT NULL,
  linked_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT wallet_link_pkey PRIMARY KEY (wallet),
  CONSTRAINT wallet_link_check CHECK ((person <> wallet)),
  CONSTRAINT wallet_link_person_fkey FOREIGN KEY (person) REFERENCES hub.person(principal),
  CONSTRAINT wallet_link_wallet_fkey FOREIGN KEY (wallet) REFERENCES hub.principal(id)
);
CREATE INDEX wallet_link_person ON hub.wallet_link USING btree (person);
CREATE TRIGGER remember AFTER INSERT OR UPDATE ON hub.wallet_link FOR EACH ROW EXECUTE FUNCTION hub.remember_link();
GRANT DELETE, INSERT, SELECT, UPDATE ON hub.wallet_link TO hub_app;

CREATE TABLE hub.wallet_nonce (
  chain_id integer NOT NULL,
  address hub.address NOT NULL,
  CONSTRAINT wallet_nonce_pkey PRIMARY KEY (chain_id, address)
);
GRANT INSERT, SELECT, UPDATE ON hub.wallet_nonce TO hub_app;

CREATE TABLE hub.webhook (
  id text NOT NULL,
  principal text NOT NULL,
  url text NOT NULL,
  events text[] NOT NULL,
  secret_version integer DEFAULT 1 NOT NULL,
  previous_until timestamp with time zone,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  failing_since timestamp with time zone,
  disabled_at timestamp with time zone,
  disabled_reason text,
  key_version integer DEFAULT 1 NOT NULL,
  previous_key_version integer DEFAULT 1 NOT NULL,
  is_quick boolean DEFAULT false NOT NULL,
  CONSTRAINT webhook_pkey PRIMARY KEY (id),
  CONSTRAINT webhook_check CHECK ((num_nulls(disabled_at, disabled_reason) = ANY (ARRAY[0, 2]))),
  CONSTRAINT webhook_disabled_reason_check CHECK ((disabled_reason = ANY (ARRAY['gone'::text, 'failing'::text]))),
  CONSTRAINT webhook_events_check CHECK (((cardinality(events) >= 1) AND (cardinality(events) <= 20))),
  CONSTRAINT webhook_id_check CHECK ((id ~ '^whk_[0-9A-Za-z]{16}$'::text)),
  CONSTRAINT webhook_principal_fkey FOREIGN KEY (principal) REFERENCES hub.principal(id),
  CONSTRAINT webhook_url_check CHECK ((length(url) <= 2048))
);
CREATE INDEX webhook_principal ON hub.webhook USING btree (principal, created_at);
GRANT DELETE, INSERT, SELECT, UPDATE ON hub.webhook TO hub_app;

CREATE TABLE hub.webhook_delivery (
  webhook text NOT NULL,
  event text NOT NULL,
  at timestamp with time zone NOT NULL,
  state text DEFAULT 'pending'::text NOT NULL,
  attempts smallint DEFAULT 0 NOT NULL,
  next_at timestamp with time zone NOT NULL,
  tried_at timestamp with time zone,
  status smallint,
  error text,
  duration_ms integer,
  CONSTRAINT webhook_delivery_pkey PRIMARY KEY (webhook, event),
  CONSTRAINT webhook_delivery_duration_ms_check CHECK ((duration_ms >= 0)),
  CONSTRAINT webhook_delivery_event_fkey FOREIGN KEY (event) REFERENCES hub.webhook_event(id) ON DELETE CASCADE,
  CONSTRAINT webhook_delivery_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'delivered'::text, 'failed'::text]))),
  CONSTRAINT webhook_delivery_webhook_fkey FOREIGN KEY (webhook) REFERENCES hub.webhook(id) ON DELETE CASCADE
);
CREATE INDEX webhook_delivery_due ON hub.webhook_delivery USING btree (next_at) WHERE (state = 'pending'::text);
CREATE INDEX webhook_delivery_event ON hub.webhook_delivery USING btree (event);
CREATE INDEX webhook_delivery_log ON hub.webhook_delivery USING btree (webhook, at, event);
CREATE INDEX webhook_delivery_turn ON hub.webhook_delivery USING btree (webhook, next_at) WHERE (state = 'pending'::text);
GRANT DELETE, INSERT, SELECT, UPDATE ON hub.webhook_delivery TO hub_app;

CREATE TABLE hub.webhook_event (
  id text NOT NULL,
  principal text NOT NULL,
  type text NOT NULL,
  data jsonb NOT NULL,
  at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  CONSTRAINT webhook_event_pkey PRIMARY KEY (id),
  CONSTRAINT webhook_event_id_check CHECK ((id ~ '^evt_[0-9a-f]{32}$'::text))
);
CREATE INDEX webhook_event_age ON hub.webhook_event USING btree (at);
GRANT DELETE, INSERT, SELECT, UPDATE ON hub.webhook_event TO hub_app;

CREATE VIEW hub.call_day AS
 SELECT o.service,
    o.day,
    o.endpoint,
    o.outcome,
    o.refused,
    l.ms,
    l.calls
   FROM (hub.outcome_day o
     CROSS JOIN LATERAL UNNEST(o.ms, o.calls) l(ms, calls));
GRANT SELECT ON hub.call_day TO hub_app;

CREATE VIEW hub.outgoing_state AS
 SELECT (COALESCE(s.paused, false) OR (o.reason IS NOT NULL)) AS paused,
        CASE
            WHEN ((o.reason IS NOT NULL) AND (s.paused IS NOT TRUE)) THEN 'reconciliation'::text
            ELSE s.author
        END AS author,
        CASE
            WHEN ((o.reason IS NOT NULL) AND (s.paused IS NOT TRUE)) THEN o.reason
            ELSE s.reason
        END AS reason,
        CASE
            WHEN ((o.reason IS NOT NULL) AND (s.paused IS NOT TRUE)) THEN o.at
            ELSE s.at
        END AS at
   FROM (((( VALUES (1)) one(n)
     LEFT JOIN LATERAL ( SELECT outgoing_switch.id,
            outgoing_switch.paused,
            outgoing_switch.author,
            outgoing_switch.reason,
            outgoing_switch.at
           FROM hub.outgoing_switch
          ORDER BY outgoing_switch.id DESC
         LIMIT 1) s ON (true))
     LEFT JOIN LATERAL ( SELECT reconciliation.at,
            (reconciliation.at < (clock_timestamp() - '00:10:00'::interval)) AS overdue
           FROM hub.reconciliation
          WHERE (((reconciliation.wallet)::text = 'spend'::text) AND (reconciliation.chain_balance IS NOT NULL))
          ORDER BY reconciliation.id DESC
         LIMIT 1) r ON (true))
     LEFT JOIN LATERAL ( SELECT
                CASE
                    WHEN (NOT c.confirmed) THEN 'The database was restarted or restored, and the ledger has not been reconciled with the blockchain since.'::text
                    WHEN r.overdue THEN 'The ledger has not been reconciled with the blockchain for ten minutes.'::text
                    ELSE NULL::text
                END AS reason,
                CASE
                    WHEN (NOT c.confirmed) THEN pg_postmaster_start_time()
                    ELSE r.at
                END AS at
           FROM ( SELECT hub.is_outgoing_confirmed() AS confirmed) c) o ON (true));
GRANT SELECT ON hub.outgoing_state TO hub_app;

CREATE VIEW hub.payout_destination AS
 SELECT p.id AS provider,
    c.address,
    c.effective_at AS since,
    w.id AS next_id,
    w.address AS next,
    w.effective_at AS next_at
   FROM ((hub.provider p
     LEFT JOIN LATERAL ( SELECT d.id,
            d.provider,
            d.address,
            d.set_by,
            d.nonce,
            d.set_at,
            d.effective_at,
            d.withdrawn_at
           FROM hub.payout_address d
          WHERE ((d.provider = p.id) AND (d.set_by = p.owner) AND (d.withdrawn_at IS NULL) AND (d.effective_at <= now()))
          ORDER BY d.effective_at DESC, d.id DESC
         LIMIT 1) c ON (true))
     LEFT JOIN LATERAL ( SELECT d.id,
            d.provider,
            d.address,
            d.set_by,
            d.nonce,
            d.set_at,
            d.effective_at,
            d.withdrawn_at
           FROM hub.payout_address d
          WHERE ((d.provider = p.id) AND (d.set_by = p.owner) AND (d.withdrawn_at IS NULL) AND (d.effective_at > now()))
          ORDER BY d.id DESC
         LIMIT 1) w ON (true));
GRANT SELECT ON hub.payout_destination TO hub_app;

CREATE VIEW hub.seller_record AS
 SELECT seller,
    count(*) AS signed,
    count(*) FILTER (WHERE (state = ANY (ARRAY['paid'::text, 'confirmed'::text]))) AS taken,
    count(*) FILTER (WHERE ((state = ANY (ARRAY['paid'::text, 'confirmed'::text])) AND (reason IS NULL))) AS delivered,
    count(*) FILTER (WHERE (state = ANY (ARRAY['signed'::text, 'unresolved'::text]))) AS open,
    max(created_at) AS last_at
   FROM hub.payment_intent
  GROUP BY seller;
GRANT SELECT ON hub.seller_record TO hub_app;

CREATE OR REPLACE FUNCTION hub.about_ms(ms integer)
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN (ms < 64) THEN ms ELSE ((((ms >> (27 - POSITION(('1'::"bit") IN ((ms)::bit(32))))) + 1) << (27 - POSITION(('1'::"bit") IN ((ms)::bit(32))))) - 1) END;
GRANT EXECUTE ON FUNCTION hub.about_ms(integer) TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.acting_principals(p_principal text)
 RETURNS text[]
 LANGUAGE sql
 STABLE
 SET search_path TO 'hub', 'pg_temp'
AS $function$
  SELECT array_agg(id) FROM (SELECT p_principal UNION ALL
    SELECT wallet FROM wallet_link WHERE person = p_principal) a(id) $function$;
GRANT EXECUTE ON FUNCTION hub.acting_principals(text) TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.add_audit(p_name text, p_principal text, p_via text, p_role text, p_act text, p_subject text, p_before jsonb, p_after jsonb, p_reason text, p_request text, p_network text)
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'hub', 'pg_temp'
AS $function$
DECLARE
  line audit;
  last audit;
BEGIN
  PERFORM hub.begin_act();
  SELECT * INTO last FROM audit ORDER BY seq DESC LIMIT 1;
  line := ROW(coalesce(last.seq, 0) + 1, greatest(clock_timestamp(), last.at), p_name, p_principal, p_via,
    p_role, p_act, p_subject, p_before, p_after, p_reason, p_request, p_network,
    coalesce(last.hash, decode(repeat('00', 32), 'hex')), NULL)::audit;
  line.hash := audit_hash(line);
  INSERT INTO audit SELECT line.*;
  RETURN line.seq;
END $function$;
GRANT EXECUTE ON FUNCTION hub.add_audit(text,text,text,text,text,text,jsonb,jsonb,text,text,text) TO hub_app;

CREATE OR REPLACE FUNCTION hub.admit_payout()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  refusal text;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(hashtext('hub.outgoing_switch'));
  PERFORM pg_advisory_xact_lock(hashtext('hub.payout_rules'));
  IF (SELECT paused FROM hub.outgoing_state) THEN
    RAISE EXCEPTION 'outgoing payments are paused' USING ERRCODE = 'AH010';
  END IF;
  IF NEW.state <> 'started' THEN
    RAISE EXCEPTION 'a payout begins at its beginning' USING ERRCODE = 'check_violation';
  END IF;
  IF (NEW.rules).provider_cap IS NULL OR (NEW.rules).platform_cap IS NULL OR (NEW.rules).alone IS NULL
      OR (NEW.rules).first_hours IS NULL OR (NEW.rules).credit_hours IS NULL THEN
    RAISE EXCEPTION 'a payout starts under rules' USING ERRCODE = 'check_violation';
  END IF;
  SELECT w.rule INTO refusal FROM hub.payout_wait(NEW.provider, NEW.payee, NEW.amount, NEW.rules) w;
  IF refusal IS NOT NULL THEN
    RAISE EXCEPTION '%', refusal USING ERRCODE = 'AH013';
  END IF;
  NEW.started_at := clock_timestamp(); -- its day counts it
  NEW.tried_at := NEW.started_at; -- not tried yet
  NEW.approval := CASE
    WHEN NEW.amount + hub.paid_to_person(NEW.provider, NEW.payee) > (NEW.rules).alone
    THEN (SELECT u.id FROM hub.usable_approval(NEW.provider, NEW.payee) u) END;
  RETURN NEW;
END $function$;
GRANT EXECUTE ON FUNCTION hub.admit_payout() TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.admit_payout_address()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  present text := (SELECT d.address FROM hub.payout_destination d WHERE d.provider = NEW.provider);
BEGIN
  IF present IS NULL OR present = NEW.address THEN RETURN NEW; END IF;
  IF NOT EXISTS (SELECT FROM hub.payout_address_request r WHERE r.id = NEW.request
      AND r.closed_at IS NULL AND r.provider = NEW.provider AND r.address = NEW.address) THEN
    RAISE EXCEPTION 'the change of a payout address was not requested' USING ERRCODE = 'check_violation';
  END IF;
  IF NEW.recoverer IS NULL AND NOT EXISTS (SELECT FROM hub.challenge c WHERE c.nonce = NEW.change_nonce
      AND c.purpose = 'payout-change' AND c.used_at IS NOT NULL AND c.wallet_address = present
      AND c.terms ->> 'provider' = NEW.provider AND c.terms ->> 'request' = NEW.request::text)
    OR hub.own_subject(NEW.recoverer, ARRAY['liabilities:providers:' || NEW.provider || ':']) IS NOT NULL
  THEN
    RAISE EXCEPTION 'the change of a payout address is not authorized' USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $function$;
GRANT EXECUTE ON FUNCTION hub.admit_payout_address() TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.admit_payout_approval()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF hub.own_subject(NEW.approver, ARRAY['liabilities:providers:' || NEW.provider || ':']) IS NOT NULL THEN
    RAISE EXCEPTION 'the owner of provider % cannot approve its payout', NEW.provider
      USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $function$;
GRANT EXECUTE ON FUNCTION hub.admit_payout_approval() TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.admit_payout_part()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  due bigint := hub.commission_due(NEW.account);
BEGIN
  IF NEW.rounding > due OR NOT EXISTS (SELECT 1 FROM ledger.journal j
      WHERE j.owner = NEW.account AND j.id = NEW.rounding_entry AND j.phase = 0 AND j.kind = 44
        AND j.shard = NEW.shard AND j.seq BETWEEN NEW.after_seq AND NEW.upto_seq
        AND j.accounts = ARRAY[NEW.account, 1] AND j.amounts = ARRAY[-NEW.rounding, NEW.rounding]) THEN
    RAISE EXCEPTION 'payout %: commission of % is not due', NEW.payout, NEW.rounding
      USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $function$;
GRANT EXECUTE ON FUNCTION hub.admit_payout_part() TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.announce_credential()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM pg_notify('credential', '');
  RETURN NULL;
END $function$;
GRANT EXECUTE ON FUNCTION hub.announce_credential() TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.audit_fault(p_after bigint DEFAULT 0, p_hash bytea DEFAULT decode(repeat('00'::text, 32), 'hex'::text))
 RETURNS bigint
 LANGUAGE sql
 STABLE
 SET search_path TO 'hub', 'pg_temp'
AS $function$
  SELECT p_after WHERE p_after > 0 AND NOT EXISTS (SELECT FROM audit WHERE seq = p_after AND hash = p_hash)
  UNION ALL
  (SELECT l.seq FROM (SELECT a.*, lag(a.hash, 1, p_hash) OVER w AS before_it,
      p_after + row_number() OVER w AS place
    FROM audit a WHERE a.seq > p_after WINDOW w AS (ORDER BY a.seq)) l
  JOIN audit a ON a.seq = l.seq
  WHERE l.seq <> l.place OR l.prev <> l.before_it OR l.hash <> audit_hash(a) ORDER BY l.seq LIMIT 1)
  LIMIT 1 $function$;
GRANT EXECUTE ON FUNCTION hub.audit_fault(bigint,bytea) TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.audit_hash(l hub.audit)
 RETURNS bytea
 LANGUAGE sql
 STABLE
RETURN sha256(((l).prev || convert_to((jsonb_build_array((l).seq, ((EXTRACT(epoch FROM (l).at) * (1000000)::numeric))::bigint, (l).name, (l).principal, (l).via, (l).role, (l).act, (l).subject, (l).before, (l).after, (l).reason, (l).request, (l).network))::text, 'UTF8'::name)));
GRANT EXECUTE ON FUNCTION hub.audit_hash(hub.audit) TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.beat(p_process uuid)
 RETURNS void
 LANGUAGE sql
 SET search_path TO 'hub', 'pg_temp'
AS $function$
  INSERT INTO process AS p (id) VALUES (p_process)
    ON CONFLICT (id) DO UPDATE SET beat_at = now(), steady_since =
      CASE WHEN p.beat_at < now() - interval '3 seconds' THEN now() ELSE p.steady_since END;
  DELETE FROM process WHERE beat_at < now() - interval '1 hour';
$function$;
GRANT EXECUTE ON FUNCTION hub.beat(uuid) TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.begin_act()
 RETURNS void
 LANGUAGE sql
AS $function$ SELECT pg_advisory_xact_lock(hashtext('hub.audit')) $function$;
GRANT EXECUTE ON FUNCTION hub.begin_act() TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.check_key_version()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'hub', 'pg_temp'
AS $function$
BEGIN
  IF TG_OP = 'DELETE' THEN
    RAISE EXCEPTION 'key versions are never deleted' USING ERRCODE = 'restrict_violation';
  END IF;
  IF (NEW.purpose, NEW.version, NEW.key_id, NEW.created_at, NEW.active_from)
      IS DISTINCT FROM (OLD.purpose, OLD.version, OLD.key_id, OLD.created_at, OLD.active_from)
    OR OLD.retired_at IS NOT NULL THEN
    RAISE EXCEPTION 'key versions are only rewrapped or retired' USING ERRCODE = 'restrict_violation';
  END IF;
  IF NEW.retired_at IS NOT NULL AND NOT EXISTS (
      SELECT FROM key_version WHERE purpose = NEW.purpose AND version > NEW.version
        AND wrapped IS NOT NULL AND active_from <= clock_timestamp()) THEN
    RAISE EXCEPTION 'the current key version cannot be retired' USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END $function$;
GRANT EXECUTE ON FUNCTION hub.check_key_version() TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.claim_sub_key_name(p_owner bigint, p_sub_key text, p_name text, p_inputs text, p_id uuid, OUT id uuid, OUT outcome smallint)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'hub', 'ledger', 'pg_temp'
AS $function$
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
END $function$;
GRANT EXECUTE ON FUNCTION hub.claim_sub_key_name(bigint,text,text,text,uuid) TO hub_app;

CREATE OR REPLACE FUNCTION hub.commission_due(p_account bigint)
 RETURNS bigint
 LANGUAGE sql
AS $function$
  SELECT greatest(0,
    div(coalesce((SELECT sum(e.rounding) FROM hub.earning e WHERE e.account = p_account), 0), 10000)
      - coalesce((SELECT sum(p.rounding) FROM hub.payout_part p WHERE p.account = p_account), 0))::bigint $function$;
GRANT EXECUTE ON FUNCTION hub.commission_due(bigint) TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.commission_of(p_provider text, p_service text, p_at timestamp with time zone DEFAULT now())
 RETURNS smallint
 LANGUAGE sql
 STABLE
RETURN COALESCE((SELECT r.bps FROM hub.commission_rule r WHERE ((r.provider = commission_of.p_provider) AND (r.service = commission_of.p_service) AND (r.effective_from <= commission_of.p_at)) ORDER BY r.effective_from DESC, r.id DESC LIMIT 1), (SELECT r.bps FROM hub.commission_rule r WHERE ((r.provider = commission_of.p_provider) AND (r.service IS NULL) AND (r.effective_from <= commission_of.p_at)) ORDER BY r.effective_from DESC, r.id DESC LIMIT 1));
GRANT EXECUTE ON FUNCTION hub.commission_of(text,text,timestamp with time zone) TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.commit_payment(p hub.payment_intent, p_caps bigint[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'hub', 'pg_temp'
AS $function$
DECLARE
  scopes text[] := ARRAY['key:' || p.owner, 'host:' || p.host, 'platform'];
  unresolved_scopes text[];
  today date;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(hashtext('hub.outgoing_switch'));
  p.created_at := clock_timestamp(); -- its day counts it, now and when it is given back
  p.principal := coalesce(p.principal, (SELECT k.principal FROM api_key k JOIN ledger.account a
    ON a.code = 'liabilities:agents:' || k.id || ':credits' WHERE a.id = p.owner));
  today := (p.created_at AT TIME ZONE 'UTC')::date;
  IF (SELECT paused FROM hub.outgoing_state) THEN
    RAISE EXCEPTION 'payments to sellers are paused' USING ERRCODE = 'AH010';
  END IF;
  FOR n IN 1 .. 3 LOOP
    INSERT INTO outflow AS o VALUES (today, scopes[n], p.amount)
      ON CONFLICT (day, scope) DO UPDATE SET amount = o.amount + excluded.amount
        WHERE o.amount + excluded.amount <= p_caps[n];
    IF NOT FOUND OR p.amount > p_caps[n] THEN
      RAISE EXCEPTION '%', scopes[n] USING ERRCODE = 'AH011';
    END IF;
  END LOOP;
  unresolved_scopes := hub.unresolved_scopes(p);
  FOR n IN 1 .. 3 LOOP
    INSERT INTO unresolved AS u VALUES (unresolved_scopes[n], p.amount)
      ON CONFLICT (scope) DO UPDATE SET amount = u.amount + excluded.amount
        WHERE u.amount + excluded.amount <= coalesce(p_caps[n + 3], 9223372036854775807);
    IF NOT FOUND OR p.amount > p_caps[n + 3] THEN
      RAISE EXCEPTION '%', unresolved_scopes[n] USING ERRCODE = 'AH012';
    END IF;
  END LOOP;
  p.state := 'signed';
  p.changed_at := p.created_at;
  INSERT INTO payment_intent SELECT p.*;
END $function$;
GRANT EXECUTE ON FUNCTION hub.commit_payment(hub.payment_intent,bigint[]) TO hub_app;

CREATE OR REPLACE FUNCTION hub.conclude_payment(p_call uuid, p_state text, p_transaction text, p_status smallint, p_reason text, p_taken bigint DEFAULT NULL::bigint)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'hub', 'pg_temp'
AS $function$
DECLARE
  p payment_intent;
  unspent bigint;
BEGIN
  SELECT * INTO p FROM payment_intent
    WHERE call = p_call AND state IN ('signed', 'unresolved', 'paid') FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  IF p_taken <> p.amount AND (p.authorized IS NULL OR p.state = 'paid' OR p_taken > p.amount) THEN
    RAISE EXCEPTION 'the amount of payment % is final', p_call USING ERRCODE = 'check_violation';
  END IF;
  UPDATE payment_intent SET state = p_state, transaction = coalesce(p_transaction, transaction),
      status = coalesce(p_status, status), reason = coalesce(p_reason, reason), changed_at = now(),
      amount = coalesce(p_taken, amount)
    WHERE call = p_call;
  unspent := CASE WHEN p_state = 'unused' THEN p.amount ELSE p.amount - coalesce(p_taken, p.amount) END;
  IF unspent > 0 THEN
    FOR n IN 1 .. 3 LOOP
      UPDATE outflow o SET amount = o.amount - unspent
        WHERE o.day = (p.created_at AT TIME ZONE 'UTC')::date
          AND o.scope = (ARRAY['key:' || p.owner, 'host:' || p.host, 'platform'])[n];
    END LOOP;
  END IF;
  IF p.state = 'paid' OR p_state IN ('signed', 'unresolved') THEN RETURN; END IF;
  FOR n IN 1 .. 3 LOOP
    UPDATE unresolved u SET amount = u.amount - p.amount
      WHERE u.scope = (hub.unresolved_scopes(p))[n];
  END LOOP;
END $function$;
GRANT EXECUTE ON FUNCTION hub.conclude_payment(uuid,text,text,smallint,text,bigint) TO hub_app;

CREATE OR REPLACE FUNCTION hub.confirm_outgoing(p_start timestamp with time zone, p_head bigint, p_block bigint)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'hub', 'pg_temp'
AS $function$
BEGIN
  IF p_start <> pg_postmaster_start_time() THEN
    RETURN; -- the chain was read before this epoch
  END IF;
  UPDATE outgoing_epoch e SET server_start = p_start, xact = pg_current_xact_id(), head = p_head,
    database = (SELECT oid FROM pg_database WHERE datname = current_database()),
    confirmed = p_block >= p_head
    WHERE NOT hub.is_current_epoch(e.server_start, e.database, e.xact, e.xmin) OR e.database IS NULL;
  UPDATE outgoing_epoch e SET confirmed = true, xact = pg_current_xact_id()
    WHERE NOT e.confirmed AND p_block >= e.head;
END $function$;
GRANT EXECUTE ON FUNCTION hub.confirm_outgoing(timestamp with time zone,bigint,bigint) TO PUBLIC;
GRANT EXECUTE ON FUNCTION hub.confirm_outgoing(timestamp with time zone,bigint,bigint) TO hub_app;

CREATE OR REPLACE FUNCTION hub.confirm_role(p_id bigint, p_name text, p_confirmer text, p_admins text[])
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'hub', 'pg_temp'
AS $function$
DECLARE
  pending role;
  fault text;
BEGIN
  PERFORM begin_act();
  SELECT * INTO pending FROM role WHERE id = p_id AND revoked_at IS NULL;
  IF NOT FOUND THEN RETURN 'not_found'; END IF;
  IF pending.confirmed_at IS NOT NULL THEN RETURN NULL; END IF;
  fault := second_person_fault(p_confirmer, pending.granter, ARRAY[pending.principal],
    pending.granted_at, '{admin}', p_admins);
  IF fault IS NOT NULL THEN RETURN fault; END IF;
  UPDATE role SET confirmer = p_confirmer, confirmed_by = p_name, confirmed_at = clock_timestamp(),
    effective_at = least(effective_at, clock_timestamp()) WHERE id = p_id;
  RETURN NULL;
END $function$;
GRANT EXECUTE ON FUNCTION hub.confirm_role(bigint,text,text,text[]) TO hub_app;

CREATE OR REPLACE FUNCTION hub.content_version_step()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF NEW.content IS DISTINCT FROM OLD.content AND NEW.content IS NOT NULL
      OR (NEW.subject, NEW.version, NEW.held, NEW.created_at)
        IS DISTINCT FROM (OLD.subject, OLD.version, OLD.held, OLD.created_at) THEN
    RAISE EXCEPTION 'the content of version % is never changed', OLD.version USING ERRCODE = '23514';
  END IF;
  IF NEW.state <> OLD.state AND NOT (OLD.state = 'waiting' OR OLD.state = 'approved'
      AND NEW.state = 'replaced') THEN
    RAISE EXCEPTION 'a version that is % does not become %', OLD.state, NEW.state USING ERRCODE = '23514';
  END IF;
  RETURN NEW;
END $function$;
GRANT EXECUTE ON FUNCTION hub.content_version_step() TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.count_calls()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'hub', 'pg_temp'
AS $function$
DECLARE
  sign integer := TG_ARGV[0]; -- 1: the rows were added; -1: an update replaced them
BEGIN
  WITH alike AS MATERIALIZED (
    SELECT c.service, (c.at AT TIME ZONE 'UTC')::date AS day, c.endpoint, c.principal,
      CASE c.outcome WHEN 'failed' THEN coalesce(c.reason, 'failed') ELSE c.outcome END AS outcome,
      c.outcome = 'delivered' AS delivered, c.outcome = 'failed' AS failed, c.status < 500 AS up,
      CASE c.outcome WHEN 'delivered' THEN about_ms(c.latency_ms) ELSE -1 END AS ms,
      sign * count(*)::integer AS calls, sign * sum(c.charged)::bigint AS charged,
      sign * sum(c.latency_ms)::bigint AS latency_ms, min(c.at) AS first_at, max(c.at) AS last_at
    FROM counted c GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9),
  outcomes AS (
    INSERT INTO outcome_day AS t
      SELECT l.service, l.day, l.endpoint, l.outcome, l.refused, array_agg(l.ms ORDER BY l.ms),
        array_agg(l.calls ORDER BY l.ms)
      FROM (SELECT service, day, endpoint, outcome, failed AND up AS refused, ms, sum(calls)::integer AS calls
        FROM alike GROUP BY 1, 2, 3, 4, 5, 6 HAVING sum(calls) <> 0) l
      GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5
      ON CONFLICT (service, day, endpoint, outcome, refused) DO UPDATE SET (ms, calls) = (
        SELECT coalesce(array_agg(l.ms ORDER BY l.ms), '{}'), coalesce(array_agg(l.calls ORDER BY l.ms), '{}')
        FROM (SELECT u.ms, sum(u.calls)::integer AS calls
          FROM (SELECT * FROM unnest(t.ms, t.calls)
            UNION ALL SELECT * FROM unnest(excluded.ms, excluded.calls)) u(ms, calls)
          GROUP BY u.ms HAVING sum(u.calls) <> 0) l)),
  services AS (
    INSERT INTO service_day AS t (service, day, calls, up, delivered, failed, latency_ms)
      SELECT service, day, sum(calls), coalesce(sum(calls) FILTER (WHERE up), 0),
        coalesce(sum(calls) FILTER (WHERE delivered), 0), coalesce(sum(calls) FILTER (WHERE failed), 0),
        sum(latency_ms)
      FROM alike GROUP BY 1, 2 ORDER BY 1, 2
      ON CONFLICT (service, day) DO UPDATE SET calls = t.calls + excluded.calls, up = t.up + excluded.up,
        delivered = t.delivered + excluded.delivered, failed = t.failed + excluded.failed,
        latency_ms = t.latency_ms + excluded.latency_ms),
  days AS (
    INSERT INTO caller_day AS t (service, day, principal, calls, delivered, charged, first_at, last_at, up)
      SELECT service, day, principal, sum(calls), coalesce(sum(calls) FILTER (WHERE delivered), 0),
        sum(charged), min(first_at), max(last_at), coalesce(sum(calls) FILTER (WHERE up), 0)
      FROM alike GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
      ON CONFLICT (service, day, principal) DO UPDATE SET calls = t.calls + excluded.calls,
        delivered = t.delivered + excluded.delivered, charged = t.charged + excluded.charged,
        first_at = least(t.first_at, excluded.first_at), last_at = greatest(t.last_at, excluded.last_at),
        up = t.up + excluded.up)
  INSERT INTO caller_week AS t
    SELECT service, date_trunc('week', day::timestamp)::date, principal, sum(calls),
      coalesce(sum(calls) FILTER (WHERE delivered), 0), sum(charged), min(first_at), max(last_at)
    FROM alike GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    ON CONFLICT (service, week, principal) DO UPDATE SET calls = t.calls + excluded.calls,
      delivered = t.delivered + excluded.delivered, charged = t.charged + excluded.charged,
      first_at = least(t.first_at, excluded.first_at), last_at = greatest(t.last_at, excluded.last_at);
  RETURN NULL;
END $function$;
GRANT EXECUTE ON FUNCTION hub.count_calls() TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.decide_act(p_id uuid, p_state text, p_note text, p_name text, p_principal text, p_principals text[], p_admins text[])
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'hub', 'pg_temp'
AS $function$
DECLARE
  act staff_act;
  fault text;
BEGIN
  PERFORM begin_act();
  SELECT * INTO act FROM staff_act WHERE id = p_id AND state = 'proposed';
  IF NOT FOUND THEN RETURN 'not_found'; END IF;
  IF p_state = 'booked' THEN
    IF own_subject(p_principal, act.accounts, p_principals) IS NOT NULL THEN RETURN 'own_account'; END IF;
    fault := second_person_fault(p_principal, act.proposer, act.person, act.proposed_at,
      deciding_roles(act.kind), p_admins);
    IF fault IS NOT NULL THEN RETURN fault; END IF;
  END IF;
  UPDATE staff_act SET state = p_state, decided_by = p_name, decider = p_principal,
    decided_at = clock_timestamp(), note = p_note WHERE id = p_id;
  RETURN NULL;
END $function$;
GRANT EXECUTE ON FUNCTION hub.decide_act(uuid,text,text,text,text,text[],text[]) TO hub_app;

CREATE OR REPLACE FUNCTION hub.deciding_roles(p_kind text)
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE
AS $function$ SELECT CASE p_kind WHEN 'provider' THEN ARRAY['admin'] ELSE ARRAY['admin', 'finance'] END $function$;
GRANT EXECUTE ON FUNCTION hub.deciding_roles(text) TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.discard_upstream(p_slug text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'hub', 'pg_temp'
AS $function$
DECLARE
  last integer := (SELECT max(version) FROM content_version WHERE subject = p_slug);
BEGIN
  PERFORM FROM upstream WHERE slug = p_slug AND state = 'retired' AND activated_at IS NULL FOR UPDATE;
  IF NOT FOUND THEN RETURN false; END IF;
  DELETE FROM content_version WHERE subject = p_slug;
  INSERT INTO content_version (subject, version, state, decided_at)
    SELECT p_slug, last, 'withdrawn', now() WHERE last IS NOT NULL;
  DELETE FROM upstream_price WHERE service = p_slug;
  DELETE FROM upstream_endpoint WHERE service = p_slug;
  DELETE FROM upstream_secret WHERE service = p_slug;
  DELETE FROM upstream_health WHERE service = p_slug;
  DELETE FROM upstream WHERE slug = p_slug;
  DELETE FROM service WHERE slug = p_slug;
  RETURN true;
EXCEPTION WHEN foreign_key_violation THEN
  RETURN false;
END $function$;
GRANT EXECUTE ON FUNCTION hub.discard_upstream(text) TO hub_app;

CREATE OR REPLACE FUNCTION hub.document_of(l hub.listing)
 RETURNS hub.search_document
 LANGUAGE sql
 STABLE
 SET search_path TO 'hub', 'pg_temp'
AS $function$
  SELECT ROW('external', l.id, l.name, '', l.category, l.tags, l.description,
    l.method || ' ' || l.url, ARRAY(SELECT DISTINCT o ->> 'network' FROM jsonb_array_elements(l.offers) o),
    l.price, l.state, coalesce(l.listed_at, l.first_seen_at), l.last_verified_at, l.uptime,
    coalesce(l.paid_ms, l.latency_p50_ms), round(coalesce(l.trust, 0)),
    round(coalesce(l.trust * l.success, 0)), ARRAY[lower(l.pay_to), l.host],
    l.latency_p95_ms)::search_document
$function$;
GRANT EXECUTE ON FUNCTION hub.document_of(hub.listing) TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.done_alone(p_principal text)
 RETURNS bigint
 LANGUAGE sql
 STABLE
 SET search_path TO 'hub', 'pg_temp'
AS $function$
  SELECT coalesce(sum(exposure), 0)::bigint FROM staff_act
  WHERE state = 'booked' AND decider IS NULL
    AND proposed_at >= date_trunc('day', clock_timestamp() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'
    AND person && principals_of_person(p_principal) $function$;
GRANT EXECUTE ON FUNCTION hub.done_alone(text) TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.emit(p_principal text, p_type text, p_data jsonb, p_webhook text DEFAULT NULL::text)
 RETURNS text
 LANGUAGE sql
AS $function$
  WITH hearer AS (
    SELECT w.id FROM hub.webhook w
    WHERE w.disabled_at IS NULL
      AND w.principal IN (p_principal, (SELECT l.person FROM hub.wallet_link l WHERE l.wallet = p_principal))
      AND CASE WHEN p_webhook IS NULL THEN p_type = ANY (w.events) ELSE w.id = p_webhook END
      AND NOT EXISTS (SELECT FROM hub.webhook_delivery d
        WHERE d.webhook = w.id AND d.state = 'pending' OFFSET 9999)
  ), event AS (
    INSERT INTO hub.webhook_event (id, principal, type, data)
    SELECT 'evt_' || replace(gen_random_uuid()::text, '-', ''), p_principal, p_type, p_data
    WHERE EXISTS (SELECT FROM hearer)
    RETURNING id, at
  ), delivery AS (
    INSERT INTO hub.webhook_delivery (webhook, event, at, next_at)
    SELECT h.id, e.id, e.at, e.at FROM hearer h, event e
  )
  SELECT id FROM event
$function$;
GRANT EXECUTE ON FUNCTION hub.emit(text,text,jsonb,text) TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.endpoint_digest(p_base_url text, p_endpoint jsonb)
 RETURNS bytea
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO 'hub', 'pg_temp'
AS $function$
  SELECT sha256(convert_to(p_base_url || (p_endpoint - 'summary')::text, 'UTF8'))
$function$;
GRANT EXECUTE ON FUNCTION hub.endpoint_digest(text,jsonb) TO PUBLIC;
GRANT EXECUTE ON FUNCTION hub.endpoint_digest(text,jsonb) TO hub_app;

CREATE OR REPLACE FUNCTION hub.ensure_call_partitions(ahead integer DEFAULT 3)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET "TimeZone" TO 'UTC'
 SET lock_timeout TO '1s'
AS $function$
DECLARE
  month timestamptz;
  bound uuid;
  next uuid;
  partition text;
  made integer := 0;
  moved_max CONSTANT integer := 10000;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('hub.ensure_call_partitions'));
  LOOP
    bound := substring(pg_get_expr(c.relpartbound, c.oid) FROM '[0-9a-f]{8}-[0-9a-f-]{27}')
      FROM pg_class c WHERE c.oid = 'hub.call_later'::regclass;
    month := hub.instant_of_call(bound);
    EXIT WHEN month > date_trunc('month', now()) + make_interval(months => ahead);
    next := hub.first_call_id(month + interval '1 month');
    partition := 'call_' || to_char(month, 'YYYY_MM');
    IF (SELECT count(*) FROM (SELECT FROM hub.call_later WHERE id < next LIMIT moved_max + 1) l) > moved_max
    THEN
      RAISE EXCEPTION 'call_later has more than % records of %: run "npm run calls -- split"', moved_max,
        partition;
    END IF;
    ALTER TABLE hub.call DETACH PARTITION hub.call_later;
    EXECUTE format('CREATE TABLE hub.%I PARTITION OF hub.call FOR VALUES FROM (%L) TO (%L)',
      partition, bound, next);
    EXECUTE format('WITH moved AS (DELETE FROM hub.call_later WHERE id < %L RETURNING *)
      INSERT INTO hub.%I SELECT * FROM moved', next, partition);
    EXECUTE format('ALTER TABLE hub.call ATTACH PARTITION hub.call_later
      FOR VALUES FROM (%L) TO (MAXVALUE)', next);
    made := made + 1;
  END LOOP;
  RETURN made;
END $function$;
GRANT EXECUTE ON FUNCTION hub.ensure_call_partitions(integer) TO hub_app;

CREATE OR REPLACE FUNCTION hub.expired_credits(p_before timestamp with time zone)
 RETURNS TABLE(principal text, amount bigint)
 LANGUAGE sql
 STABLE
 SET search_path TO 'hub', 'pg_temp'
AS $function$
  WITH inflow AS (
    SELECT u.account, sum(u.amount) AS amount
    FROM ledger.journal j CROSS JOIN LATERAL unnest(j.accounts, j.amounts) u(account, amount)
    WHERE j.kind IN (16, 20, 25, 29, 37, 40) AND j.at >= p_before AND u.amount > 0
    GROUP BY u.account
  )
  SELECT k.principal, (sum(b.balance) - coalesce(sum(i.amount), 0))::bigint
  FROM api_key k JOIN principal p ON p.id = k.principal
  JOIN ledger.balance b ON b.account = k.credits AND b.shard = p.shard
  LEFT JOIN inflow i ON i.account = k.credits
  WHERE k.parent IS NULL GROUP BY k.principal
  HAVING sum(b.balance) > coalesce(sum(i.amount), 0) $function$;
GRANT EXECUTE ON FUNCTION hub.expired_credits(timestamp with time zone) TO PUBLIC;
GRANT EXECUTE ON FUNCTION hub.expired_credits(timestamp with time zone) TO hub_app;

CREATE OR REPLACE FUNCTION hub.figures_of(p_listing hub.listing)
 RETURNS hub.seller_figures
 LANGUAGE sql
 STABLE
 SET search_path TO 'hub', 'pg_temp'
AS $function$
  WITH ended AS (
    SELECT i.call, i.principal, i.owner, i.state <> 'unused' AND i.reason IS NULL AS delivered,
      is_seller_fault(i.status, i.reason) AND i.incomplete IS NOT TRUE AS fault
    FROM payment_intent i
    WHERE i.seller = split_part(p_listing.url, '?', 1) AND i.state IN ('paid', 'confirmed', 'unused')
      AND i.created_at > now() - interval '30 days'),
  paid AS (
    SELECT i.*, c.latency_ms FROM (
      (SELECT * FROM ended WHERE delivered ORDER BY call DESC LIMIT 2000)
      UNION ALL (SELECT * FROM ended WHERE fault ORDER BY call DESC LIMIT 2000)
      UNION ALL (SELECT * FROM ended WHERE NOT delivered AND NOT fault ORDER BY call DESC LIMIT 2000)) i
    LEFT JOIN call c ON c.id = i.call),
  seller AS (
    SELECT array_agg(id) AS ids FROM (
      SELECT lower(l.pay_to) AS id FROM listing l WHERE l.host = p_listing.host
      UNION SELECT lower(h.before) FROM listing_change h
        WHERE h.listing = p_listing.id AND h.field = 'pay_to' AND h.before IS NOT NULL
      UNION SELECT unnest(identities_of(o.principal, NULL)) FROM listing_owner o
        WHERE o.host = p_listing.host) s),
  account AS (
    SELECT a.principal, a.owner, identities_of(a.principal, a.owner) AS ids,
      least(1, 0.1 + extract(epoch FROM now() - p.created_at) / 86400 / 14) AS weight
    FROM (SELECT DISTINCT principal, owner FROM paid) a JOIN principal p ON p.id = a.principal),
  payer AS (
    SELECT (SELECT min(id) FROM account o, unnest(o.ids) id WHERE o.ids && a.ids) AS who,
      max(a.weight) AS weight,
      count(*) AS calls, count(*) FILTER (WHERE p.delivered) AS delivered,
      percentile_disc(0.5) WITHIN GROUP (ORDER BY p.latency_ms) FILTER (WHERE p.delivered) AS ms
    FROM paid p JOIN account a USING (principal, owner) CROSS JOIN seller s
    WHERE (p.delivered OR p.fault) AND NOT a.ids && s.ids GROUP BY 1)
  SELECT ROW(coalesce(sum(calls), 0), coalesce(sum(delivered), 0), count(*), coalesce(sum(weight), 0),
    sum(weight * delivered / calls) / nullif(sum(weight), 0),
    (SELECT count(*) FROM paid WHERE NOT delivered AND NOT fault),
    percentile_disc(0.5) WITHIN GROUP (ORDER BY ms))::seller_figures FROM payer
$function$;
GRANT EXECUTE ON FUNCTION hub.figures_of(hub.listing) TO PUBLIC;
GRANT EXECUTE ON FUNCTION hub.figures_of(hub.listing) TO hub_app;

CREATE OR REPLACE FUNCTION hub.first_call_id(instant timestamp with time zone)
 RETURNS uuid
 LANGUAGE sql
 IMMUTABLE
RETURN (rpad(lpad(to_hex(((EXTRACT(epoch FROM instant) * (1000)::numeric))::bigint), 12, '0'::text), 32, '0'::text))::uuid;
GRANT EXECUTE ON FUNCTION hub.first_call_id(timestamp with time zone) TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.free_payment_identifier()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'hub', 'pg_temp'
AS $function$
BEGIN
  NEW.identifier := NULL;
  RETURN NEW;
END $function$;
GRANT EXECUTE ON FUNCTION hub.free_payment_identifier() TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.grant_role(p_principal text, p_role text, p_name text, p_granter text, p_wait interval, p_admins text[])
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'hub', 'pg_temp'
AS $function$
DECLARE
  made bigint;
BEGIN
  PERFORM begin_act();
  INSERT INTO role (principal, role, granted_by, granter, by_configured, granted_at, effective_at)
    VALUES (p_principal, p_role, p_name, p_granter, is_configured_admin(p_granter, p_admins),
      clock_timestamp(), clock_timestamp()
        + CASE WHEN p_role = 'auditor' THEN interval '0' ELSE greatest(p_wait, interval '0') END)
    ON CONFLICT (principal, role) WHERE revoked_at IS NULL DO NOTHING RETURNING id INTO made;
  RETURN made;
END $function$;
GRANT EXECUTE ON FUNCTION hub.grant_role(text,text,text,text,interval,text[]) TO hub_app;

CREATE OR REPLACE FUNCTION hub.guard_claim_amount()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF OLD.state = 'released' AND NEW.state = 'claimed' THEN RETURN NEW; END IF;
  IF OLD.state = 'claimed' AND NEW.state = 'claimed' AND OLD.authorized = NEW.authorized
    AND NEW.amount < OLD.amount AND NEW.settling AND NOT OLD.settling THEN RETURN NEW; END IF;
  RAISE EXCEPTION 'the amount of payment claim % is final', OLD.id
    USING ERRCODE = 'check_violation', CONSTRAINT = 'payment_claim_amount_final';
END $function$;
GRANT EXECUTE ON FUNCTION hub.guard_claim_amount() TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.hold_back()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF NEW.suspended_at IS NOT NULL OR EXISTS (SELECT FROM hub.provider p
      WHERE p.id = NEW.provider AND p.suspended_at IS NOT NULL) THEN
    IF NEW.state = 'active' THEN
      NEW.state := 'unlisted';
      NEW.held_back := true;
    END IF;
  ELSIF NEW.held_back THEN
    IF NEW.state = 'unlisted' THEN NEW.state := 'active'; END IF;
    NEW.held_back := false;
  END IF;
  RETURN NEW;
END $function$;
GRANT EXECUTE ON FUNCTION hub.hold_back() TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.holds_role_without(p_holder text, p_roles text[], p_at timestamp with time zone, p_person text[], p_admins text[])
 RETURNS boolean
 LANGUAGE sql
 STABLE
 SET search_path TO 'hub', 'pg_temp'
AS $function$
  SELECT NOT principals_of_person(p_holder) && p_person AND (is_configured_admin(p_holder, p_admins)
    OR EXISTS (
    WITH RECURSIVE voucher(id, is_root) AS (
      SELECT v.id, v.is_root FROM role r, LATERAL (VALUES (r.granter, r.by_configured), (r.confirmer, false))
          v(id, is_root)
        WHERE r.principal = ANY (acting_principals(p_holder)) AND r.role = ANY (p_roles)
          AND r.effective_at <= p_at AND (r.revoked_at IS NULL OR r.revoked_at > p_at)
          AND ((v.id IS NULL AND v.is_root) OR v.id <> ALL (p_person))
      UNION
      SELECT v.id, v.is_root FROM voucher u
        CROSS JOIN LATERAL unnest(principals_of_person(u.id)) o(id)
        JOIN role r ON r.principal = o.id AND r.role = 'admin',
        LATERAL (VALUES (r.granter, r.by_configured), (r.confirmer, false)) v(id, is_root)
        WHERE (v.id IS NULL AND v.is_root) OR v.id <> ALL (p_person))
    SELECT FROM voucher u WHERE u.is_root OR is_configured_admin(u.id, p_admins))) $function$;
GRANT EXECUTE ON FUNCTION hub.holds_role_without(text,text[],timestamp with time zone,text[],text[]) TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.identities_of(p_principal text, p_account bigint)
 RETURNS text[]
 LANGUAGE sql
 STABLE
 SET search_path TO 'hub', 'pg_temp'
AS $function$
  SELECT array_agg(id ORDER BY id) FROM (
    SELECT unnest(principals_of_person(p_principal)) AS id
    UNION SELECT wallet_address FROM principal
      WHERE id = ANY (principals_of_person(p_principal)) AND wallet_address IS NOT NULL
    UNION SELECT c.payer FROM ledger.account a JOIN payment_claim c ON c.payee = a.code
      WHERE a.id = p_account AND c.purpose = 'credits') known
$function$;
GRANT EXECUTE ON FUNCTION hub.identities_of(text,bigint) TO PUBLIC;
GRANT EXECUTE ON FUNCTION hub.identities_of(text,bigint) TO hub_app;

CREATE OR REPLACE FUNCTION hub.index_service(p_slug text)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'hub', 'pg_temp'
AS $function$
  DELETE FROM search_document d WHERE d.kind = 'native' AND d.id = p_slug
    AND NOT EXISTS (SELECT FROM service s WHERE s.slug = p_slug AND s.state = 'active');
  INSERT INTO search_document AS d (kind, id, name, provider, category, tags, description, words,
      networks, price, state, listed_at, sellers)
    SELECT 'native', s.slug, s.name, s.provider, s.category, '{}', s.summary, e.words,
      '{eip155:8453}', e.price, 'active', s.listed_at,
      CASE s.provider WHEN 'agenthub' THEN '{}' ELSE ARRAY['provider ' || s.provider] END
    FROM service s CROSS JOIN LATERAL (
      SELECT string_agg(concat_ws(' ', method, path, summary), ' ' ORDER BY path, method) AS words,
        min((SELECT coalesce(minimum, amount) FROM price WHERE endpoint = endpoint.id
          ORDER BY version DESC LIMIT 1)) AS price
      FROM endpoint WHERE endpoint.service = s.slug AND endpoint.state = 'active') e
    WHERE s.slug = p_slug AND s.state = 'active' AND e.price IS NOT NULL
  ON CONFLICT (kind, id) DO UPDATE SET (name, provider, category, description, words, price, sellers) =
      (excluded.name, excluded.provider, excluded.category, excluded.description, excluded.words,
       excluded.price, excluded.sellers)
    WHERE (d.name, d.provider, d.category, d.description, d.words, d.price) IS DISTINCT FROM
      (excluded.name, excluded.provider, excluded.category, excluded.description, excluded.words,
       excluded.price)
$function$;
GRANT EXECUTE ON FUNCTION hub.index_service(text) TO hub_app;

CREATE OR REPLACE FUNCTION hub.instant_of_call(id uuid)
 RETURNS timestamp with time zone
 LANGUAGE sql
 IMMUTABLE
RETURN to_timestamp((((((('x'::text || "left"(replace((id)::text, '-'::text, ''::text), 12)))::bit(48))::bigint)::numeric / 1000.0))::double precision);
GRANT EXECUTE ON FUNCTION hub.instant_of_call(uuid) TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.is_configured_admin(p_principal text, p_admins text[])
 RETURNS boolean
 LANGUAGE sql
 STABLE
 SET search_path TO 'hub', 'pg_temp'
AS $function$
  SELECT EXISTS (SELECT FROM principal WHERE id = ANY (acting_principals(p_principal))
    AND wallet_address = ANY (p_admins)) $function$;
GRANT EXECUTE ON FUNCTION hub.is_configured_admin(text,text[]) TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.is_current_epoch(p_start timestamp with time zone, p_database oid, p_xact xid8, p_version xid)
 RETURNS boolean
 LANGUAGE sql
 STABLE
RETURN ((p_start = pg_postmaster_start_time()) AND ((p_xact)::xid = p_version) AND COALESCE((p_database = (SELECT pg_database.oid FROM pg_database WHERE (pg_database.datname = current_database()))), true));
GRANT EXECUTE ON FUNCTION hub.is_current_epoch(timestamp with time zone,oid,xid8,xid) TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.is_gone(p_process uuid, p_me uuid)
 RETURNS boolean
 LANGUAGE sql
 STABLE
 SET search_path TO 'hub', 'pg_temp'
AS $function$
  SELECT p_process <> p_me
    AND EXISTS (SELECT FROM process WHERE id = p_me AND beat_at > now() - interval '3 seconds'
      AND steady_since < now() - interval '3 seconds')
    AND NOT EXISTS (SELECT FROM process
      WHERE id = p_process AND beat_at > now() - interval '3 seconds')
$function$;
GRANT EXECUTE ON FUNCTION hub.is_gone(uuid,uuid) TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.is_only_root(p_person text[], p_admins text[])
 RETURNS boolean
 LANGUAGE sql
 STABLE
 SET search_path TO 'hub', 'pg_temp'
AS $function$
  SELECT NOT EXISTS (
    SELECT FROM unnest(p_admins) a(wallet) LEFT JOIN principal p ON p.wallet_address = a.wallet
      WHERE coalesce(p.id <> ALL (p_person), true)
    UNION ALL
    SELECT FROM role r WHERE r.role = 'admin' AND r.revoked_at IS NULL AND r.granter IS NULL
      AND r.by_configured AND r.principal <> ALL (p_person)) $function$;
GRANT EXECUTE ON FUNCTION hub.is_only_root(text[],text[]) TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.is_outgoing_confirmed()
 RETURNS boolean
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'hub', 'pg_temp'
RETURN (EXISTS (SELECT FROM hub.outgoing_epoch e WHERE (e.confirmed AND hub.is_current_epoch(e.server_start, e.database, e.xact, e.xmin))));
GRANT EXECUTE ON FUNCTION hub.is_outgoing_confirmed() TO PUBLIC;
GRANT EXECUTE ON FUNCTION hub.is_outgoing_confirmed() TO hub_app;

CREATE OR REPLACE FUNCTION hub.is_seller_fault(p_status integer, p_reason text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN ((p_reason IS NOT NULL) AND (p_reason <> ALL (ARRAY['caller_left'::text, 'timeout'::text])) AND (((COALESCE(p_status, 0) < 400) OR (COALESCE(p_status, 0) > 499)) OR (p_status = ANY (ARRAY[402, 408, 429]))));
GRANT EXECUTE ON FUNCTION hub.is_seller_fault(integer,text) TO PUBLIC;
GRANT EXECUTE ON FUNCTION hub.is_seller_fault(integer,text) TO hub_app;

CREATE OR REPLACE FUNCTION hub.is_staff(p_principal text, p_admins text[])
 RETURNS boolean
 LANGUAGE sql
 STABLE
 SET search_path TO 'hub', 'pg_temp'
AS $function$
  SELECT EXISTS (SELECT FROM role WHERE principal = ANY (acting_principals(p_principal))
    AND revoked_at IS NULL) OR is_configured_admin(p_principal, p_admins) $function$;
GRANT EXECUTE ON FUNCTION hub.is_staff(text,text[]) TO PUBLIC;
GRANT EXECUTE ON FUNCTION hub.is_staff(text,text[]) TO hub_app;

CREATE OR REPLACE FUNCTION hub.issue_document(p_prefix text, p_kind text, p_subject text, p_principal text, p_content jsonb)
 RETURNS SETOF hub.document
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'hub', 'pg_temp'
AS $function$
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
END $function$;
GRANT EXECUTE ON FUNCTION hub.issue_document(text,text,text,text,jsonb) TO hub_app;

CREATE OR REPLACE FUNCTION hub.keep_exception()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF OLD.resolved_at IS NOT NULL OR (NEW.id, NEW.wallet, NEW.kind, NEW.fact, NEW.amount, NEW.reason, NEW.tx,
      NEW.block, NEW.transfer, NEW.entry, NEW.found_at) IS DISTINCT FROM (OLD.id, OLD.wallet, OLD.kind,
      OLD.fact, OLD.amount, OLD.reason, OLD.tx, OLD.block, OLD.transfer, OLD.entry, OLD.found_at) THEN
    RAISE EXCEPTION 'exception % stays as it is', OLD.id USING ERRCODE = 'restrict_violation',
      HINT = 'Resolve it while it is open; what was resolved wrongly is corrected by another entry.';
  END IF;
  RETURN NEW;
END $function$;
GRANT EXECUTE ON FUNCTION hub.keep_exception() TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.keep_payout()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF TG_OP = 'DELETE' OR OLD.state <> 'started' OR
      (NEW.id, NEW.provider, NEW.batch, NEW.attempt, NEW.amount, NEW.recovered, NEW.shard, NEW.payer,
        NEW.payee, NEW.nonce, NEW.valid_before, NEW.from_block, NEW.started_at, NEW.rules,
        NEW.approval) IS DISTINCT FROM
      (OLD.id, OLD.provider, OLD.batch, OLD.attempt, OLD.amount, OLD.recovered, OLD.shard, OLD.payer,
        OLD.payee, OLD.nonce, OLD.valid_before, OLD.from_block, OLD.started_at, OLD.rules,
        OLD.approval) THEN
    RAISE EXCEPTION 'payout % stays as it is', OLD.id USING ERRCODE = 'restrict_violation';
  END IF;
  IF NEW.state = 'confirmed' AND NOT EXISTS (SELECT FROM ledger.journal j WHERE j.owner = 7
      AND j.id = NEW.id AND j.phase = 0 AND j.kind = 22 AND j.amounts[1] = -NEW.amount) THEN
    RAISE EXCEPTION 'payout % is not booked out of the wallet', NEW.id USING ERRCODE = 'check_violation';
  END IF;
  IF NEW.state = 'failed' AND NEW.amount <> (SELECT coalesce(sum(j.amounts[2]), 0)
      FROM (SELECT DISTINCT p.account FROM hub.payout_part p WHERE p.payout = NEW.id) p
      JOIN ledger.journal j ON j.owner = p.account AND j.id = NEW.id AND j.phase = 0 AND j.kind = 23) THEN
    RAISE EXCEPTION 'payout % is not owed again', NEW.id USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $function$;
GRANT EXECUTE ON FUNCTION hub.keep_payout() TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.keep_payout_address()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF TG_OP = 'DELETE' OR OLD.withdrawn_at IS NOT NULL OR OLD.effective_at <= now() OR
      (NEW.id, NEW.provider, NEW.address, NEW.set_by, NEW.nonce, NEW.set_at, NEW.effective_at,
        NEW.request, NEW.change_nonce, NEW.recoverer)
      IS DISTINCT FROM (OLD.id, OLD.provider, OLD.address, OLD.set_by, OLD.nonce, OLD.set_at,
        OLD.effective_at, OLD.request, OLD.change_nonce, OLD.recoverer) THEN
    RAISE EXCEPTION 'payout address % stays as it is', OLD.id USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END $function$;
GRANT EXECUTE ON FUNCTION hub.keep_payout_address() TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.keep_payout_part()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF TG_OP = 'DELETE' OR OLD.calls IS NOT NULL OR (NEW.payout, NEW.account, NEW.shard, NEW.amount,
      NEW.entry, NEW.after_seq, NEW.upto_seq, NEW.carried, NEW.rounding, NEW.rounding_entry)
    IS DISTINCT FROM (OLD.payout, OLD.account, OLD.shard, OLD.amount, OLD.entry, OLD.after_seq,
      OLD.upto_seq, OLD.carried, OLD.rounding, OLD.rounding_entry) THEN
    RAISE EXCEPTION 'what payout % took stays as it is', OLD.payout USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END $function$;
GRANT EXECUTE ON FUNCTION hub.keep_payout_part() TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.keep_role()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF OLD.revoked_at IS NOT NULL OR (NEW.id, NEW.principal, NEW.role, NEW.granted_by, NEW.granted_at,
      NEW.granter, NEW.by_configured) IS DISTINCT FROM (OLD.id, OLD.principal, OLD.role, OLD.granted_by,
      OLD.granted_at, OLD.granter, OLD.by_configured)
    OR ((NEW.confirmer, NEW.confirmed_by, NEW.confirmed_at, NEW.effective_at) IS DISTINCT FROM
      (OLD.confirmer, OLD.confirmed_by, OLD.confirmed_at, OLD.effective_at)
      AND (OLD.confirmed_at IS NOT NULL OR NEW.confirmed_at IS NULL OR NEW.effective_at > OLD.effective_at))
  THEN
    RAISE EXCEPTION 'role % stays as it was given', OLD.id USING ERRCODE = 'restrict_violation',
      HINT = 'It is confirmed once and taken away once; a new one is a new row.';
  END IF;
  RETURN NEW;
END $function$;
GRANT EXECUTE ON FUNCTION hub.keep_role() TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.keep_row()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  RAISE EXCEPTION 'evidence is kept: % on % refused', TG_OP, TG_TABLE_NAME
    USING ERRCODE = 'restrict_violation';
END $function$;
GRANT EXECUTE ON FUNCTION hub.keep_row() TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.keep_staff_act()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF OLD.state <> 'proposed' OR (NEW.id, NEW.kind, NEW.subject, NEW.terms, NEW.accounts, NEW.exposure,
      NEW.alone_max, NEW.reason, NEW.proposed_by, NEW.proposer, NEW.person, NEW.proposed_at)
    IS DISTINCT FROM (OLD.id, OLD.kind, OLD.subject, OLD.terms, OLD.accounts, OLD.exposure,
      OLD.alone_max, OLD.reason, OLD.proposed_by, OLD.proposer, OLD.person, OLD.proposed_at) THEN
    RAISE EXCEPTION 'act % stays as it was proposed', OLD.id USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END $function$;
GRANT EXECUTE ON FUNCTION hub.keep_staff_act() TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.listing_added()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'hub', 'pg_temp'
AS $function$
BEGIN
  INSERT INTO listing_change (listing, field, after, verified)
    SELECT id, 'price', price, last_verified_at IS NOT NULL FROM added;
  INSERT INTO search_document SELECT (document_of(a::listing)).*
    FROM added a WHERE a.state IN ('active', 'degraded');
  RETURN NULL;
END $function$;
GRANT EXECUTE ON FUNCTION hub.listing_added() TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.listing_changed()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'hub', 'pg_temp'
AS $function$
BEGIN
  INSERT INTO listing_change (listing, field, before, after, verified)
    SELECT new.id, field, before, after, old.last_verified_at IS NOT NULL
    FROM (VALUES
      ('price', old.price::text, new.price::text), ('pay_to', old.pay_to, new.pay_to),
      ('network', old.network, new.network),
      ('schema', nullif(md5(concat(old.input_schema, old.output_schema)), md5('')),
        md5(concat(new.input_schema, new.output_schema))),
      ('state', concat_ws(': ', old.state, old.reason), concat_ws(': ', new.state, new.reason))
    ) c (field, before, after) WHERE before IS DISTINCT FROM after;
  IF new.state NOT IN ('active', 'degraded') THEN
    DELETE FROM search_document WHERE kind = 'external' AND id = new.id;
    RETURN NULL;
  END IF;
  INSERT INTO search_document AS d SELECT w.* FROM document_of(new) w
    ON CONFLICT (kind, id) DO UPDATE SET
      (name, provider, category, tags, description, words, networks, price, state, listed_at,
       verified_at, uptime, latency_ms, calls, delivered, sellers, p95_ms) =
      (excluded.name, excluded.provider, excluded.category, excluded.tags, excluded.description,
       excluded.words, excluded.networks, excluded.price, excluded.state, excluded.listed_at,
       excluded.verified_at, excluded.uptime, excluded.latency_ms, excluded.calls, excluded.delivered,
       excluded.sellers, excluded.p95_ms);
  RETURN NULL;
END $function$;
GRANT EXECUTE ON FUNCTION hub.listing_changed() TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.lock_payment(p_call uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'hub', 'pg_temp'
AS $function$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended(p_call::text, 8408));
  RETURN EXISTS (SELECT FROM payment_intent
    WHERE call = p_call AND state IN ('signed', 'unresolved', 'paid'));
END $function$;
GRANT EXECUTE ON FUNCTION hub.lock_payment(uuid) TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.needs_second_person(p_principal text, p_kind text, p_terms jsonb, p_exposure bigint, p_alone_max bigint)
 RETURNS boolean
 LANGUAGE sql
 STABLE
 SET search_path TO 'hub', 'pg_temp'
AS $function$
  SELECT (p_kind = 'adjustment' AND (p_terms ->> 'asset' IS DISTINCT FROM 'USDC'
      OR p_terms ->> 'credit' LIKE ANY (
        '{liabilities:agents:%,liabilities:providers:%,assets:receivable:providers}')))
    OR p_kind IN ('write-off', 'breakage')
    OR (p_kind = 'exception' AND p_terms ->> 'decision' = 'identified')
    OR done_alone(p_principal) + p_exposure > p_alone_max $function$;
GRANT EXECUTE ON FUNCTION hub.needs_second_person(text,text,jsonb,bigint,bigint) TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.open_act(p_id uuid, p_kind text, p_subject text, p_terms jsonb, p_accounts text[], p_principals text[], p_exposure bigint, p_alone_max bigint, p_reason text, p_name text, p_principal text, p_state text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'hub', 'pg_temp'
AS $function$
BEGIN
  PERFORM begin_act();
  IF own_subject(p_principal, p_accounts, p_principals) IS NOT NULL THEN
    RAISE EXCEPTION 'nobody decides about accounts of their own' USING ERRCODE = 'AH011';
  END IF;
  IF p_state <> 'proposed'
      AND needs_second_person(p_principal, p_kind, p_terms, p_exposure, p_alone_max) THEN
    RAISE EXCEPTION 'the act needs a second person' USING ERRCODE = 'AH012';
  END IF;
  INSERT INTO staff_act (id, kind, subject, terms, accounts, exposure, alone_max, reason, proposed_by,
      proposer, person, state, decided_at)
    VALUES (p_id, p_kind, p_subject, p_terms, p_accounts, p_exposure, p_alone_max, p_reason, p_name,
      p_principal, principals_of_person(p_principal), p_state,
      CASE WHEN p_state <> 'proposed' THEN clock_timestamp() END);
END $function$;
GRANT EXECUTE ON FUNCTION hub.open_act(uuid,text,text,jsonb,text[],text[],bigint,bigint,text,text,text,text) TO hub_app;

CREATE OR REPLACE FUNCTION hub.origin_of(p_url text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN "substring"(p_url, '^https?://[^/?#]+'::text);
GRANT EXECUTE ON FUNCTION hub.origin_of(text) TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.own_subject(p_principal text, p_accounts text[], p_principals text[] DEFAULT '{}'::text[])
 RETURNS text
 LANGUAGE sql
 STABLE
 SET search_path TO 'hub', 'pg_temp'
AS $function$
  WITH me AS MATERIALIZED (SELECT unnest(principals_of_person(p_principal)) AS id),
  touched AS MATERIALIZED (SELECT a AS code, split_part(a, ':', 2) AS family, split_part(a, ':', 3) AS name
    FROM unnest(p_accounts) a WHERE a LIKE 'liabilities:%:%')
  SELECT t.code FROM touched t WHERE t.family IN ('agents', 'allowances')
    AND EXISTS (SELECT FROM api_key k JOIN me ON me.id = k.principal WHERE k.id = t.name)
  UNION ALL
  SELECT t.code FROM touched t JOIN me ON me.id = t.name WHERE t.family = 'free-calls'
  UNION ALL
  SELECT t.code FROM touched t WHERE t.family = 'providers' AND (
    EXISTS (SELECT FROM provider p JOIN me ON me.id = p.owner WHERE p.id = t.name)
    OR EXISTS (SELECT FROM payout_address a LEFT JOIN principal w ON w.wallet_address = a.address
      JOIN me ON me.id IN (w.id, a.set_by) WHERE a.provider = t.name))
  UNION ALL
  SELECT p FROM unnest(p_principals) p JOIN me ON me.id = p
  LIMIT 1 $function$;
GRANT EXECUTE ON FUNCTION hub.own_subject(text,text[],text[]) TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.paid_to_person(p_provider text, p_payee text)
 RETURNS bigint
 LANGUAGE sql
 STABLE
 SET search_path TO 'hub', 'pg_temp'
AS $function$
  WITH me AS MATERIALIZED (
    SELECT unnest(principals_of_person(s.id)) AS id
    FROM (SELECT owner AS id FROM provider WHERE id = p_provider AND owner IS NOT NULL
      UNION SELECT id FROM principal WHERE wallet_address = p_payee) s)
  SELECT coalesce(sum(o.amount), 0)::bigint FROM payout o
  WHERE o.started_at >= date_trunc('day', clock_timestamp(), 'UTC') AND o.state <> 'failed'
    AND (o.provider = p_provider OR o.payee = p_payee
      OR o.provider = ANY (ARRAY(SELECT p.id FROM provider p JOIN me ON me.id = p.owner))
      OR o.payee = ANY (ARRAY(SELECT w.wallet_address FROM principal w JOIN me ON me.id = w.id))) $function$;
GRANT EXECUTE ON FUNCTION hub.paid_to_person(text,text) TO PUBLIC;
GRANT EXECUTE ON FUNCTION hub.paid_to_person(text,text) TO hub_app;

CREATE OR REPLACE FUNCTION hub.payout_amount(p_provider text, p_payee text, p_owed bigint, p_rules hub.payout_rules)
 RETURNS bigint
 LANGUAGE sql
 STABLE
AS $function$
  SELECT least(p_owed, p_rules.provider_cap,
    (SELECT greatest(u.amount, p_rules.alone) FROM hub.usable_approval(p_provider, p_payee) u)) $function$;
GRANT EXECUTE ON FUNCTION hub.payout_amount(text,text,bigint,hub.payout_rules) TO PUBLIC;
GRANT EXECUTE ON FUNCTION hub.payout_amount(text,text,bigint,hub.payout_rules) TO hub_app;

CREATE OR REPLACE FUNCTION hub.payout_hold(p_provider text, p_payee text, p_amount bigint, p_rules hub.payout_rules)
 RETURNS TABLE(rule text, until timestamp with time zone)
 LANGUAGE plpgsql
 STABLE
AS $function$
DECLARE
  moment timestamptz := clock_timestamp();
BEGIN
  IF p_rules.first_hours > 0 AND NOT EXISTS (SELECT FROM hub.payout o
      JOIN hub.provider p ON p.id = o.provider
      JOIN hub.payout_address a ON a.provider = p.id AND a.set_by = p.owner AND a.address = o.payee
      WHERE o.provider = p_provider AND o.state = 'confirmed') THEN
    SELECT coalesce(f.due_at, moment) + make_interval(hours => p_rules.first_hours) INTO until
      FROM hub.provider p LEFT JOIN hub.payout_first f ON f.provider = p.id AND f.owner = p.owner
      WHERE p.id = p_provider;
    IF until > moment THEN
      rule := 'first_payout';
      RETURN NEXT;
      RETURN;
    END IF;
  END IF;
  until := ledger.credited_at(p_provider, moment - make_interval(hours => p_rules.credit_hours))
    + make_interval(hours => p_rules.credit_hours);
  IF until IS NOT NULL THEN
    rule := 'manual_credit';
    RETURN NEXT;
    RETURN;
  END IF;
  IF p_amount + hub.paid_to_person(p_provider, p_payee) > p_rules.alone
      AND NOT EXISTS (SELECT FROM hub.usable_approval(p_provider, p_payee) u WHERE u.amount >= p_amount) THEN
    rule := 'approval';
    until := CASE WHEN p_amount <= p_rules.alone THEN date_trunc('day', moment, 'UTC') + interval '1 day' END;
    RETURN NEXT;
  END IF;
END $function$;
GRANT EXECUTE ON FUNCTION hub.payout_hold(text,text,bigint,hub.payout_rules) TO PUBLIC;
GRANT EXECUTE ON FUNCTION hub.payout_hold(text,text,bigint,hub.payout_rules) TO hub_app;

CREATE OR REPLACE FUNCTION hub.payout_wait(p_provider text, p_payee text, p_amount bigint, p_rules hub.payout_rules)
 RETURNS TABLE(rule text, until timestamp with time zone)
 LANGUAGE plpgsql
 STABLE
AS $function$
DECLARE
  today timestamptz := date_trunc('day', clock_timestamp(), 'UTC');
  total bigint;
BEGIN
  SELECT h.* INTO rule, until FROM hub.payout_hold(p_provider, p_payee, p_amount, p_rules) h;
  IF rule IS NULL THEN
    SELECT coalesce(sum(o.amount), 0) INTO total FROM hub.payout o
      WHERE o.started_at >= today AND o.state <> 'failed';
    until := today + interval '1 day';
    rule := CASE
      WHEN hub.paid_to_person(p_provider, p_payee) + p_amount > p_rules.provider_cap THEN 'provider_cap'
      WHEN total + p_amount > p_rules.platform_cap THEN 'platform_cap' END;
  END IF;
  IF rule IS NOT NULL THEN RETURN NEXT; END IF;
END $function$;
GRANT EXECUTE ON FUNCTION hub.payout_wait(text,text,bigint,hub.payout_rules) TO PUBLIC;
GRANT EXECUTE ON FUNCTION hub.payout_wait(text,text,bigint,hub.payout_rules) TO hub_app;

CREATE OR REPLACE FUNCTION hub.principals_of_person(p_principal text)
 RETURNS text[]
 LANGUAGE sql
 STABLE
 SET search_path TO 'hub', 'pg_temp'
AS $function$
  WITH RECURSIVE known(id) AS (
    SELECT p_principal
    UNION
    SELECT CASE WHEN l.wallet = k.id THEN l.person ELSE l.wallet END
    FROM known k JOIN identity_link l ON l.wallet = k.id OR l.person = k.id)
  SELECT array_agg(id ORDER BY id) FROM known $function$;
GRANT EXECUTE ON FUNCTION hub.principals_of_person(text) TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.prove_payout()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  taken bigint;
  carried bigint;
BEGIN
  SELECT coalesce(sum(p.amount), 0), coalesce(sum(p.amount) FILTER (WHERE p.shard <> NEW.shard), 0)
    INTO taken, carried
    FROM hub.payout_part p
    JOIN ledger.journal j ON j.owner = p.account AND j.id = p.entry AND j.phase = 0 AND j.kind = 21
      AND j.shard = p.shard AND j.seq = p.upto_seq AND j.accounts = ARRAY[p.account, 7]
      AND j.amounts = ARRAY[-p.amount, p.amount]
    JOIN ledger.account a ON a.id = p.account AND split_part(a.code, ':', 3) = NEW.provider
    WHERE p.payout = NEW.id;
  IF taken <> NEW.amount THEN
    RAISE EXCEPTION 'payout % is of %, and its entries of %', NEW.id, NEW.amount, taken
      USING ERRCODE = 'check_violation';
  END IF;
  IF carried <> (SELECT coalesce(sum(j.amounts[2]), 0) FROM ledger.journal j
      WHERE j.owner = 23 AND j.id = NEW.id AND j.phase = 0 AND j.kind = 42 AND j.shard = NEW.shard
        AND j.accounts = ARRAY[23, 7]::bigint[])
      OR (SELECT sum(b.balance) FROM ledger.balance b WHERE b.account = 23) <> 0 THEN
    RAISE EXCEPTION 'payout %: not all of it is on shard %', NEW.id, NEW.shard
      USING ERRCODE = 'check_violation';
  END IF;
  RETURN NULL;
END $function$;
GRANT EXECUTE ON FUNCTION hub.prove_payout() TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.record_backup(p_kind text, p_name text, p_bytes bigint)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'hub', 'pg_temp'
BEGIN ATOMIC
 INSERT INTO hub.backup_run AS r (kind, succeeded_at, name, bytes)
   VALUES (record_backup.p_kind, now(), record_backup.p_name, record_backup.p_bytes) ON CONFLICT(kind) DO UPDATE SET succeeded_at = now(), name = record_backup.p_name, bytes = record_backup.p_bytes;
END;
GRANT EXECUTE ON FUNCTION hub.record_backup(text,text,bigint) TO hub_app;

CREATE OR REPLACE FUNCTION hub.record_job_run(p_job text, p_ok boolean, p_ms integer, p_period integer)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'hub', 'pg_temp'
BEGIN ATOMIC
 INSERT INTO hub.job_run AS r (job, succeeded_at, failing_since, failures, duration_ms, period_seconds)
   VALUES (record_job_run.p_job,
         CASE
             WHEN record_job_run.p_ok THEN now()
             ELSE NULL::timestamp with time zone
         END,
         CASE
             WHEN (NOT record_job_run.p_ok) THEN now()
             ELSE NULL::timestamp with time zone
         END, ((NOT record_job_run.p_ok))::integer, record_job_run.p_ms, record_job_run.p_period) ON CONFLICT(job) DO UPDATE SET succeeded_at = COALESCE(excluded.succeeded_at, r.succeeded_at), failing_since =
         CASE
             WHEN (NOT record_job_run.p_ok) THEN COALESCE(r.failing_since, now())
             ELSE NULL::timestamp with time zone
         END, failures = (r.failures + excluded.failures), duration_ms = record_job_run.p_ms, period_seconds = record_job_run.p_period;
END;
GRANT EXECUTE ON FUNCTION hub.record_job_run(text,boolean,integer,integer) TO PUBLIC;
GRANT EXECUTE ON FUNCTION hub.record_job_run(text,boolean,integer,integer) TO hub_app;

CREATE OR REPLACE FUNCTION hub.refresh_service_signals()
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'hub', 'pg_temp'
AS $function$
DECLARE
  v_today date := (now() AT TIME ZONE 'UTC')::date;
  v_changed integer;
BEGIN
  UPDATE service_day d SET (weight, up_weight) = (w.weight, least(w.up_weight, w.weight))
    FROM (SELECT c.service, c.day, sum(a.weight) AS weight, sum(a.weight * c.up / c.calls) AS up_weight
      FROM caller_day c LEFT JOIN principal p ON p.id = c.principal
      CROSS JOIN LATERAL (SELECT least(1, 0.1 + coalesce(
        greatest(extract(epoch FROM c.first_at - p.created_at), 0), 0) / 86400 / 14)::double precision
        AS weight) a
      WHERE c.day >= v_today - 1 AND c.calls > 0 GROUP BY 1, 2) w
    WHERE (d.service, d.day) = (w.service, w.day);
  UPDATE search_document d SET (calls, delivered, latency_ms, uptime, p95_ms) =
      (s.calls, s.delivered, s.latency, s.uptime, s.p95)
    FROM (SELECT f.service AS id, least(f.calls, 2147483647)::integer AS calls,
        least(round(f.calls * f.uptime / 100), 2147483647)::integer AS delivered, f.uptime::real AS uptime,
        m.latency, m.p95
      FROM (SELECT service, sum(calls) AS calls, hub.uptime(array_agg(k)) AS uptime
        FROM service_day k WHERE day > v_today - 30 GROUP BY service HAVING sum(calls) > 0) f
      CROSS JOIN LATERAL (SELECT min(l.ms) FILTER (WHERE l.upto * 2 >= l.of) AS latency,
          min(l.ms) FILTER (WHERE l.upto * 20 >= l.of * 19) AS p95
        FROM (SELECT u.ms, sum(sum(u.calls)) OVER (ORDER BY u.ms) AS upto, sum(sum(u.calls)) OVER () AS of
          FROM outcome_day o CROSS JOIN LATERAL unnest(o.ms, o.calls) u(ms, calls)
          WHERE o.service = f.service AND o.day > v_today - 30 AND o.outcome = 'delivered' GROUP BY u.ms) l
      ) m) s
    WHERE d.kind = 'native' AND d.id = s.id AND (d.calls, d.delivered, d.latency_ms, d.uptime, d.p95_ms)
      IS DISTINCT FROM (s.calls, s.delivered, s.latency, s.uptime, s.p95);
  GET DIAGNOSTICS v_changed = ROW_COUNT;
  RETURN v_changed;
END $function$;
GRANT EXECUTE ON FUNCTION hub.refresh_service_signals() TO hub_app;

CREATE OR REPLACE FUNCTION hub.refuse_payment_without_hold()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'hub', 'pg_temp'
AS $function$
DECLARE
  place smallint;
BEGIN
  PERFORM hub.lock_payment(NEW.call);
  SELECT coalesce(a.home, 0) INTO place FROM ledger.account a WHERE a.id = NEW.owner;
  IF EXISTS (SELECT 1 FROM ledger.journal j
      WHERE j.shard = place AND j.owner = NEW.owner AND j.id = NEW.call AND j.phase = 2) THEN
    RAISE EXCEPTION 'call % can no longer pay', NEW.call USING ERRCODE = 'AH014';
  END IF;
  IF EXISTS (SELECT 1 FROM abandoned_attempt a WHERE a.call = NEW.call) THEN
    RAISE EXCEPTION 'call % can no longer pay', NEW.call USING ERRCODE = 'AH014';
  END IF;
  RETURN NEW;
END $function$;
GRANT EXECUTE ON FUNCTION hub.refuse_payment_without_hold() TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.remember_link()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'hub', 'pg_temp'
AS $function$
BEGIN
  INSERT INTO identity_link (wallet, person) VALUES (NEW.wallet, NEW.person) ON CONFLICT DO NOTHING;
  RETURN NULL;
END $function$;
GRANT EXECUTE ON FUNCTION hub.remember_link() TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.replace_unresolved(p_records json)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'hub', 'pg_temp'
AS $function$
  UPDATE call c SET source = n.source, charged = n.charged, outcome = n.outcome, status = n.status,
    latency_ms = n.latency_ms, reason = n.reason, response_hash = n.response_hash
  FROM json_populate_recordset(NULL::call, p_records) n
  WHERE c.id = n.id AND c.outcome = 'unresolved' AND n.outcome <> 'unresolved' $function$;
GRANT EXECUTE ON FUNCTION hub.replace_unresolved(json) TO hub_app;

CREATE OR REPLACE FUNCTION hub.search_added()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'hub', 'pg_catalog'
AS $function$
DECLARE v_docs integer[];
BEGIN
  WITH entered AS (
    INSERT INTO search_entry (kind, id, names, vector, places, name_words, category, tags, networks, price,
        quality, listed_at, verified_at, latency_ms, calls, delivered, sellers, text_hash)
      SELECT kind, id, hub.search_names(a::search_document), v.vector, hub.search_places(v.vector),
        length(ts_filter(v.vector, '{a}')), category, tags, networks, price,
        hub.search_quality(a::search_document), listed_at, verified_at, latency_ms, calls, delivered,
        sellers, sha256(convert_to(hub.search_text(a::search_document), 'UTF8'))
      FROM added a CROSS JOIN LATERAL hub.search_vector(a::search_document) v (vector)
      RETURNING doc)
  SELECT array_agg(doc) INTO v_docs FROM entered;
  PERFORM hub.search_post(v_docs, 1);
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION hub.search_changed()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'hub', 'pg_catalog'
AS $function$
DECLARE v_docs integer[];
BEGIN
  UPDATE search_entry e SET (version, category, tags, networks, price, quality, listed_at, verified_at,
        latency_ms, calls, delivered, sellers) =
      (search_version(), n.category, n.tags, n.networks, n.price, hub.search_quality(n::search_document),
        n.listed_at, n.verified_at, n.latency_ms, n.calls, n.delivered, n.sellers)
    FROM changed n WHERE (e.kind, e.id) = (n.kind, n.id)
      AND (e.category, e.tags, e.networks, e.price, e.quality, e.listed_at, e.verified_at, e.latency_ms,
          e.calls, e.delivered, e.sellers) IS DISTINCT FROM
        (n.category, n.tags, n.networks, n.price, hub.search_quality(n::search_document), n.listed_at,
          n.verified_at, n.latency_ms, n.calls, n.delivered, n.sellers);
  SELECT array_agg(e.doc) INTO v_docs
    FROM changed n JOIN former o USING (kind, id) JOIN search_entry e USING (kind, id)
    WHERE (n.name, n.provider, n.category, n.tags, n.description, n.words)
      IS DISTINCT FROM (o.name, o.provider, o.category, o.tags, o.description, o.words);
  PERFORM hub.search_post(v_docs, -1);
  UPDATE search_entry e SET (version, names, vector, places, name_words, text_hash) =
      (search_version(), hub.search_names(n::search_document), v.vector, hub.search_places(v.vector),
       length(ts_filter(v.vector, '{a}')), sha256(convert_to(hub.search_text(n::search_document), 'UTF8')))
    FROM changed n CROSS JOIN LATERAL hub.search_vector(n::search_document) v (vector)
    WHERE (e.kind, e.id) = (n.kind, n.id) AND e.doc = ANY (v_docs);
  PERFORM hub.search_post(v_docs, 1);
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION hub.search_checked(p_terms text[], p_term_versions bigint[], p_docs integer[], p_versions bigint[], p_depth integer, p_name text, p_filter hub.search_filter)
 RETURNS TABLE(stale json, exact text, docs text, entries json)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'hub', 'pg_catalog'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET jit TO 'off'
AS $function$
DECLARE
  v_per_seller CONSTANT integer := 20;  -- one with many displaces no other, if the query has words
  v_namesakes CONSTANT integer := 50;  -- listings of one host share its name
  v_exact integer[];
  v_docs integer[];
  v_unknown integer[];
BEGIN
  SELECT json_agg(json_build_object('term', k.term, 'version', coalesce(t.version, 0)::text,
      'documents', coalesce(t.documents, 0))) INTO stale
    FROM unnest(p_terms, p_term_versions) k (term, version)
    LEFT JOIN search_term t ON t.term = k.term COLLATE "C"
    WHERE coalesce(t.version, 0) <> k.version;
  SELECT array_agg(s.doc), array_agg(s.doc) FILTER (WHERE s.version <> s.known)
    INTO v_docs, v_unknown
    FROM (SELECT * FROM (SELECT e.doc, e.version, k.version AS known, k.place,
          row_number() OVER (PARTITION BY coalesce(e.sellers[1], e.id) ORDER BY k.place) AS nth
        FROM unnest(p_docs, p_versions) WITH ORDINALITY k (doc, version, place)
        JOIN search_entry e ON e.doc = k.doc WHERE search_passes(e, p_filter)) p
      WHERE p.nth <= v_per_seller OR cardinality(p_terms) = 0 ORDER BY p.place LIMIT p_depth) s;
  v_exact := ARRAY(SELECT e.doc FROM search_entry e
    WHERE e.names @> ARRAY[p_name] AND search_passes(e, p_filter)
    ORDER BY e.quality DESC, e.doc LIMIT v_namesakes);
  v_unknown := v_unknown || ARRAY(SELECT unnest(v_exact) EXCEPT SELECT unnest(v_docs));
  IF cardinality(v_unknown) > 0 THEN
    SELECT json_agg(json_build_object('doc', e.doc, 'version', e.version::text, 'kind', e.kind, 'id', e.id,
        'price', e.price, 'quality', e.quality, 'listedAt', 1000 * extract(epoch FROM e.listed_at),
        'verifiedAt', 1000 * extract(epoch FROM e.verified_at), 'latencyMs', e.latency_ms,
        'calls', e.calls, 'delivered', e.delivered, 'sellers', coalesce(e.sellers, '{}'),
        'names', e.names, 'words', e.places, 'nameWords', e.name_words,
        'vector', e.vector::text)) INTO entries
      FROM search_entry e WHERE e.doc = ANY (v_unknown);
  END IF;
  exact := v_exact;
  docs := v_docs;
  RETURN NEXT;
END $function$;
GRANT EXECUTE ON FUNCTION hub.search_checked(text[],bigint[],integer[],bigint[],integer,text,hub.search_filter) TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.search_heads(p_terms text[], p_reads integer[])
 RETURNS TABLE(term text, version text, documents integer, docs text, impacts text)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'hub', 'pg_catalog'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET jit TO 'off'
AS $function$
BEGIN
  RETURN QUERY SELECT t.term, t.version::text, t.documents, h.docs, h.impacts
    FROM unnest(p_terms, p_reads) q (term, reads)
    JOIN search_term t ON t.term = q.term COLLATE "C"
    CROSS JOIN LATERAL (SELECT array_agg(p.doc)::text, array_agg(p.impact)::text
      FROM (SELECT doc, impact FROM search_posting WHERE search_posting.term = q.term COLLATE "C"
        ORDER BY search_posting.term DESC, impact DESC, doc DESC LIMIT q.reads) p) h (docs, impacts);
END $function$;
GRANT EXECUTE ON FUNCTION hub.search_heads(text[],integer[]) TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.search_impacts(p_vector tsvector)
 RETURNS TABLE(term text, impact smallint)
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  SELECT lexeme, (1000 * weight / (weight + 1.2 * (0.4 + 0.6 * sum(places) OVER () / 40)))::smallint
  FROM (SELECT lexeme, cardinality(positions) AS places, cardinality(positions)
      + 2 * cardinality(array_positions(weights, 'A')) + cardinality(array_positions(weights, 'B')) AS weight
    FROM unnest(p_vector)) word
$function$;
GRANT EXECUTE ON FUNCTION hub.search_impacts(tsvector) TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.search_names(p_document hub.search_document)
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN (SELECT array_agg(DISTINCT squashed.squashed) FILTER (WHERE (squashed.squashed <> ''::text)) AS array_agg FROM (unnest((ARRAY[(search_names.p_document).name, (search_names.p_document).id] || CASE (search_names.p_document).kind WHEN 'external'::text THEN ARRAY["substring"((search_names.p_document).words, '^\w+ (\S+)'::text), "substring"((search_names.p_document).words, '://([^/:\s]+)'::text)] ELSE NULL::text[] END)) name(name) CROSS JOIN LATERAL hub.search_squashed(name.name) squashed(squashed)));
GRANT EXECUTE ON FUNCTION hub.search_names(hub.search_document) TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.search_near(p_term text)
 RETURNS json
 LANGUAGE sql
 STABLE PARALLEL SAFE
 SET search_path TO 'hub', 'public', 'pg_catalog'
AS $function$
  SELECT json_agg(n) FROM (
    SELECT term, documents FROM search_term WHERE term % p_term AND term !~ '[0-9]' AND documents > 0
    ORDER BY similarity(term, p_term) DESC, term LIMIT 20) n
$function$;
GRANT EXECUTE ON FUNCTION hub.search_near(text) TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.search_passes(p_entry hub.search_entry, p_filter hub.search_filter)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN ((((p_filter).kind IS NULL) OR ((p_entry).kind = (p_filter).kind)) AND (((p_filter).category IS NULL) OR ((p_entry).category = (p_filter).category)) AND (((p_filter).tag IS NULL) OR ((p_entry).tags @> ARRAY[(p_filter).tag])) AND (((p_filter).network IS NULL) OR ((p_entry).networks @> ARRAY[(p_filter).network])) AND (((p_filter).max_price IS NULL) OR ((p_entry).price <= (p_filter).max_price)));
GRANT EXECUTE ON FUNCTION hub.search_passes(hub.search_entry,hub.search_filter) TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.search_passing(p_terms text[], p_depth integer, p_filter hub.search_filter)
 RETURNS TABLE(best text, passing text)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'hub', 'pg_catalog'
 SET plan_cache_mode TO 'force_custom_plan'
 SET enable_seqscan TO 'off'
 SET jit TO 'off'
AS $function$
DECLARE
  v_few CONSTANT integer := 500;        -- so few can be looked at one by one
  v_many CONSTANT integer := 6000;      -- of more, enough are among the strongest
  v_docs integer[];
  v_query tsquery;
BEGIN
  IF p_terms IS NULL THEN
    best := ARRAY(SELECT e.doc FROM search_entry e WHERE search_passes(e, p_filter)
      ORDER BY e.quality DESC, e.doc DESC LIMIT p_depth);
    RETURN NEXT; RETURN;
  END IF;
  v_docs := ARRAY(SELECT e.doc FROM search_entry e WHERE search_passes(e, p_filter) LIMIT v_many + 1);
  IF cardinality(v_docs) > v_few THEN
    passing := v_docs;
  ELSE
    SELECT string_agg(quote_literal(term), ' | ')::tsquery INTO v_query FROM unnest(p_terms) term;
    best := ARRAY(SELECT e.doc FROM search_entry e WHERE e.doc = ANY (v_docs) AND e.vector @@ v_query
      ORDER BY ts_rank('{0.27, 0.33, 0.67, 1}', e.vector, v_query) DESC, e.doc LIMIT p_depth);
  END IF;
  RETURN NEXT;
END $function$;
GRANT EXECUTE ON FUNCTION hub.search_passing(text[],integer,hub.search_filter) TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.search_places(p_vector tsvector)
 RETURNS smallint
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN (SELECT (COALESCE(sum(cardinality(unnest.positions)), (0)::bigint))::smallint AS "coalesce" FROM unnest(search_places.p_vector) unnest(lexeme, positions, weights));
GRANT EXECUTE ON FUNCTION hub.search_places(tsvector) TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.search_plain(p_text text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN regexp_replace(regexp_replace(regexp_replace(NORMALIZE(p_text, NFKD), '[\u0300-\u036f]'::text, ''::text, 'g'::text), '([a-z])([A-Z])'::text, '\1 \2'::text, 'g'::text), ('[^[:alnum:]]+'::text COLLATE pg_c_utf8), ' '::text, 'g'::text);
GRANT EXECUTE ON FUNCTION hub.search_plain(text) TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.search_post(p_docs integer[], p_sign integer)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'hub', 'pg_catalog'
AS $function$
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
END $function$;

CREATE OR REPLACE FUNCTION hub.search_quality(p_document hub.search_document)
 RETURNS smallint
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN (((((((((20)::numeric * (((p_document).delivered)::numeric + 9.0)) / (((p_document).calls)::numeric + 10.0)))::double precision * COALESCE((p_document).uptime, (95)::real)) / (100)::double precision) / (((1)::numeric + ((COALESCE((p_document).latency_ms, 800))::numeric / 5000.0)))::double precision) * (CASE (p_document).state WHEN 'degraded'::text THEN 0.7 ELSE (1)::numeric END)::double precision))::smallint;
GRANT EXECUTE ON FUNCTION hub.search_quality(hub.search_document) TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.search_removed()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'hub', 'pg_catalog'
AS $function$
BEGIN
  PERFORM hub.search_post(ARRAY[OLD.doc], -1);
  RETURN OLD;
END $function$;

CREATE OR REPLACE FUNCTION hub.search_squashed(p_text text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN regexp_replace(lower((regexp_replace(NORMALIZE(p_text, NFKD), '[\u0300-\u036f]'::text, ''::text, 'g'::text) COLLATE pg_c_utf8)), ('[^[:alnum:]]+'::text COLLATE pg_c_utf8), ''::text, 'g'::text);
GRANT EXECUTE ON FUNCTION hub.search_squashed(text) TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.search_text(p_document hub.search_document)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN "left"(concat_ws('
'::text, (p_document).name, (p_document).description, (((p_document).category || ': '::text) || array_to_string((p_document).tags, ', '::text))), 2000);
GRANT EXECUTE ON FUNCTION hub.search_text(hub.search_document) TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.search_vector(p_document hub.search_document)
 RETURNS tsvector
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN (((setweight(to_tsvector('english'::regconfig, hub.search_plain(concat_ws(' '::text, (p_document).name, CASE (p_document).kind WHEN 'native'::text THEN (p_document).id ELSE NULL::text END))), 'A'::"char") || setweight(to_tsvector('english'::regconfig, hub.search_plain(concat_ws(' '::text, array_to_string((p_document).tags, ' '::text), (p_document).category, (p_document).provider))), 'B'::"char")) || setweight(to_tsvector('english'::regconfig, hub.search_plain((p_document).description)), 'C'::"char")) || setweight(to_tsvector('english'::regconfig, hub.search_plain("left"(CASE (p_document).kind WHEN 'native'::text THEN (p_document).words ELSE regexp_replace((p_document).words, '^\w+ \w+://[^/?\s]*'::text, ''::text) END, 4000))), 'D'::"char"));
GRANT EXECUTE ON FUNCTION hub.search_vector(hub.search_document) TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.search_version()
 RETURNS bigint
 LANGUAGE sql
RETURN (1 + (floor((random() * ('4503599627370496'::bigint)::double precision)))::bigint);
GRANT EXECUTE ON FUNCTION hub.search_version() TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.search_words(p_words text[], p_asked boolean[])
 RETURNS TABLE(word text, term text, version text, documents integer, near json)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'hub', 'pg_catalog'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET jit TO 'off'
AS $function$
BEGIN
  RETURN QUERY SELECT w.word, l.term, coalesce(t.version, 0)::text, coalesce(t.documents, 0),
      CASE WHEN w.asked AND coalesce(t.documents, 0) = 0 AND length(l.term) > 3
        THEN hub.search_near(l.term) END
    FROM unnest(p_words, p_asked) w (word, asked)
    CROSS JOIN LATERAL unnest(tsvector_to_array(to_tsvector('english', w.word))) l (term)
    LEFT JOIN search_term t ON t.term = l.term COLLATE "C"
    UNION ALL SELECT '', s.term, s.version::text, s.documents, NULL FROM search_term s WHERE s.term = '';
END $function$;
GRANT EXECUTE ON FUNCTION hub.search_words(text[],boolean[]) TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.second_person_fault(p_decider text, p_proposer text, p_person text[], p_proposed_at timestamp with time zone, p_roles text[], p_admins text[])
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'hub', 'pg_temp'
AS $function$
DECLARE
  proposer_person text[] := array_remove(p_person || principals_of_person(p_proposer), NULL);
BEGIN
  IF principals_of_person(p_decider) && proposer_person THEN RETURN 'same_person'; END IF;
  IF NOT is_configured_admin(p_decider, p_admins) AND NOT EXISTS (SELECT FROM role r
      WHERE r.principal = ANY (acting_principals(p_decider)) AND r.role = ANY (p_roles)
        AND r.revoked_at IS NULL AND r.effective_at <= p_proposed_at) THEN
    RETURN 'role_too_new';
  END IF;
  IF NOT holds_role_without(p_decider, p_roles, p_proposed_at, proposer_person, p_admins) THEN
    RETURN 'role_from_proposer';
  END IF;
  IF p_proposer IS NOT NULL AND EXISTS (
    SELECT FROM (SELECT p_decider AS id UNION SELECT r.granter FROM role r WHERE r.granter IS NOT NULL) g
      CROSS JOIN LATERAL (SELECT principals_of_person(g.id) AS ids) one
    WHERE NOT holds_role_without(p_decider, p_roles, p_proposed_at, one.ids, p_admins)
      AND NOT holds_role_without(p_proposer, p_roles, p_proposed_at, one.ids, p_admins)
      AND NOT is_only_root(one.ids, p_admins)) THEN
    RETURN 'roles_from_one_person';
  END IF;
  RETURN NULL;
END $function$;
GRANT EXECUTE ON FUNCTION hub.second_person_fault(text,text,text[],timestamp with time zone,text[],text[]) TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.shown_provider(p_listing hub.listing)
 RETURNS text
 LANGUAGE sql
 STABLE
 SET search_path TO 'hub', 'pg_temp'
AS $function$
  SELECT CASE WHEN p_listing.rank >= 5 AND EXISTS (SELECT FROM listing_owner o
      WHERE o.host = p_listing.host AND o.opted_out_at IS NULL)
    THEN p_listing.provider ELSE p_listing.host END
$function$;
GRANT EXECUTE ON FUNCTION hub.shown_provider(hub.listing) TO PUBLIC;
GRANT EXECUTE ON FUNCTION hub.shown_provider(hub.listing) TO hub_app;

CREATE OR REPLACE FUNCTION hub.stable_price(p_listing hub.listing)
 RETURNS bigint
 LANGUAGE sql
 STABLE
 SET search_path TO 'hub', 'pg_temp'
AS $function$
  SELECT least(p_listing.price, (SELECT min(c.before::bigint) FROM listing_change c
    WHERE c.listing = p_listing.id AND c.field = 'price' AND c.verified AND c.at > now() - interval '7 days'))
$function$;
GRANT EXECUTE ON FUNCTION hub.stable_price(hub.listing) TO PUBLIC;
GRANT EXECUTE ON FUNCTION hub.stable_price(hub.listing) TO hub_app;

CREATE OR REPLACE FUNCTION hub.start_on_trust(p_claim uuid, p_unproven bigint)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'hub', 'pg_temp'
AS $function$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended(c.payer, 8408))
    FROM payment_claim c WHERE c.id = p_claim;
  UPDATE payment_claim c SET on_trust = true
  WHERE c.id = p_claim AND c.state = 'claimed'
    AND c.amount + (SELECT coalesce(sum(o.amount), 0) FROM payment_claim o
      WHERE o.payer = c.payer AND o.on_trust AND o.state IN ('claimed', 'pending')
        AND o.id <> c.id)
    <= greatest(p_unproven, (SELECT max(p.amount) FROM payment_claim p
      WHERE p.payer = c.payer AND p.purpose = 'call' AND NOT p.deposited
        AND p.state IN ('settled', 'confirmed')));
  RETURN FOUND;
END $function$;
GRANT EXECUTE ON FUNCTION hub.start_on_trust(uuid,bigint) TO hub_app;

CREATE OR REPLACE FUNCTION hub.switch_outgoing(p_paused boolean, p_author text, p_reason text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'hub', 'pg_temp'
AS $function$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('hub.outgoing_switch'));
  INSERT INTO outgoing_switch (paused, author, reason) VALUES (p_paused, p_author, p_reason);
END $function$;
GRANT EXECUTE ON FUNCTION hub.switch_outgoing(boolean,text,text) TO hub_app;

CREATE OR REPLACE FUNCTION hub.tell_payment_in()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM hub.emit(p.id, 'payment.resolved', jsonb_build_object('direction', 'in', 'id', NEW.id,
      'key_id', k.id, 'outcome', CASE NEW.state WHEN 'failed' THEN 'not_paid' ELSE 'paid' END,
      'amount_microdollars', NEW.amount, 'transaction', NEW.transaction))
    FROM hub.principal p
    LEFT JOIN hub.api_key k ON k.principal = p.id AND NEW.purpose = 'credits'
      AND k.id = split_part(NEW.payee, ':', 3)
    WHERE CASE NEW.purpose WHEN 'credits' THEN k.id IS NOT NULL ELSE p.wallet_address = NEW.payer END;
  RETURN NULL;
END $function$;
GRANT EXECUTE ON FUNCTION hub.tell_payment_in() TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.tell_payment_out()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM hub.emit(k.principal, 'payment.resolved', jsonb_build_object('direction', 'out',
      'id', NEW.call, 'key_id', k.id, 'outcome', CASE NEW.state WHEN 'unused' THEN 'not_paid' ELSE 'paid' END,
      'amount_microdollars', NEW.amount, 'transaction', NEW.transaction))
    FROM ledger.account a JOIN hub.api_key k ON k.id = split_part(a.code, ':', 3) WHERE a.id = NEW.owner;
  RETURN NULL;
END $function$;
GRANT EXECUTE ON FUNCTION hub.tell_payment_out() TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.unresolved_scopes(p hub.payment_intent)
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  SELECT ARRAY['principal:' || p.principal, 'pay_to:' || lower(p.payee), 'host:' || p.host]
$function$;
GRANT EXECUTE ON FUNCTION hub.unresolved_scopes(hub.payment_intent) TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.untested_endpoints(p_slug text, p_content jsonb)
 RETURNS TABLE(n bigint, method text, path text)
 LANGUAGE sql
 STABLE
 SET search_path TO 'hub', 'pg_temp'
AS $function$
  SELECT x.n, x.e ->> 'method', x.e ->> 'path'
  FROM jsonb_array_elements(p_content -> 'endpoints') WITH ORDINALITY x(e, n)
  WHERE NOT EXISTS (SELECT FROM endpoint_test t WHERE t.service = p_slug
      AND t.digest = endpoint_digest(p_content ->> 'baseUrl', x.e))
    AND NOT EXISTS (SELECT FROM endpoint s JOIN outcome_day d
        ON d.service = s.service AND d.endpoint = s.id AND d.outcome = 'delivered'
      WHERE s.service = p_slug AND s.method = x.e ->> 'method' AND s.path = x.e ->> 'path')
  ORDER BY x.n
$function$;
GRANT EXECUTE ON FUNCTION hub.untested_endpoints(text,jsonb) TO PUBLIC;
GRANT EXECUTE ON FUNCTION hub.untested_endpoints(text,jsonb) TO hub_app;

CREATE OR REPLACE FUNCTION hub.upstream_content(p_slug text)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
 SET search_path TO 'hub', 'pg_temp'
AS $function$
  SELECT jsonb_build_object('name', u.name, 'category', u.category, 'summary', u.summary,
    'baseUrl', u.base_url, 'healthPath', u.health_path, 'requestHeaders', u.request_headers,
    'responseHeaders', u.response_headers,
    'secrets', (SELECT coalesce(jsonb_agg(jsonb_build_object('place', s.place, 'name', s.name)
        ORDER BY s.place, s.name), '[]') FROM upstream_secret s
      WHERE s.service = u.slug AND s.origin = origin_of(u.base_url) AND s.listed),
    'endpoints', (SELECT coalesce(jsonb_agg(jsonb_build_object('method', e.method, 'path', e.path,
        'upstreamPath', e.upstream_path, 'summary', e.summary, 'input', e.input, 'output', e.output,
        'query', e.query, 'body', e.body, 'success', e.success, 'passes', e.passes,
        'deadlineSeconds', e.deadline_seconds, 'maxBytes', e.max_bytes, 'streams', e.streams,
        'idempotent', e.idempotent, 'retries', e.retries)
        -- Only where they are set, so that versions from before remain equal.
        || CASE WHEN e.encoding IS NULL THEN '{}'::jsonb
          ELSE jsonb_build_object('encoding', e.encoding) END
        || CASE WHEN e.charges = '{}' THEN '{}'::jsonb
          ELSE jsonb_build_object('charges', e.charges) END ORDER BY e.position), '[]')
      FROM upstream_endpoint e WHERE e.service = u.slug AND e.listed))
  FROM upstream u WHERE u.slug = p_slug
$function$;
GRANT EXECUTE ON FUNCTION hub.upstream_content(text) TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.upstream_step()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF NEW.state <> OLD.state AND NEW.state <> ALL (CASE OLD.state
      WHEN 'draft' THEN ARRAY['pending', 'active', 'retired']
      WHEN 'pending' THEN ARRAY['draft', 'active', 'suspended', 'retired']
      WHEN 'active' THEN ARRAY['pending', 'paused', 'suspended', 'retired']
      WHEN 'paused' THEN ARRAY['pending', 'active', 'suspended', 'retired']
      WHEN 'suspended' THEN ARRAY['paused', 'active', 'pending', 'retired']
      ELSE ARRAY[]::text[] END) THEN
    RAISE EXCEPTION 'an upstream that is % does not become %', OLD.state, NEW.state USING ERRCODE = '23514';
  END IF;
  RETURN NEW;
END $function$;
GRANT EXECUTE ON FUNCTION hub.upstream_step() TO PUBLIC;

CREATE OR REPLACE FUNCTION hub.uptime(p_days hub.service_day[])
 RETURNS double precision
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'hub', 'pg_temp'
AS $function$
  SELECT 100 * sum(coalesce(d.up_weight, d.up::double precision / d.calls)) / sum(coalesce(d.weight, 1))
  FROM unnest(p_days) d WHERE d.calls > 0
$function$;
GRANT EXECUTE ON FUNCTION hub.uptime(hub.service_day[]) TO PUBLIC;
GRANT EXECUTE ON FUNCTION hub.uptime(hub.service_day[]) TO hub_app;

CREATE OR REPLACE FUNCTION hub.usable_approval(p_provider text, p_payee text)
 RETURNS TABLE(id bigint, amount bigint)
 LANGUAGE sql
 STABLE
AS $function$
  SELECT a.id, a.amount FROM hub.payout_approval a
  WHERE a.provider = p_provider AND a.payee = p_payee
    AND a.approved_at > clock_timestamp() - interval '7 days'
    AND NOT EXISTS (SELECT FROM hub.payout o WHERE o.approval = a.id AND o.state <> 'failed')
  ORDER BY a.id DESC LIMIT 1 $function$;
GRANT EXECUTE ON FUNCTION hub.usable_approval(text,text) TO PUBLIC;
GRANT EXECUTE ON FUNCTION hub.usable_approval(text,text) TO hub_app;

CREATE SCHEMA ledger;
GRANT USAGE ON SCHEMA ledger TO hub_app;

CREATE TYPE ledger.late_entry AS (
  shard smallint,
  seq bigint,
  booked_at timestamp with time zone,
  value_at timestamp with time zone,
  amount bigint
);

CREATE TABLE ledger.account (
  id bigint GENERATED BY DEFAULT AS IDENTITY NOT NULL,
  code text NOT NULL,
  class text GENERATED ALWAYS AS (split_part(code, ':'::text, 1)) STORED NOT NULL,
  asset smallint NOT NULL,
  home smallint,
  opened_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT account_pkey PRIMARY KEY (id),
  CONSTRAINT account_asset_fkey FOREIGN KEY (asset) REFERENCES ledger.asset(id),
  CONSTRAINT account_code_check CHECK (((code ~ '^[a-z0-9]+(:[A-Za-z0-9_.-]+)+$'::text) AND (length(code) <= 200))),
  CONSTRAINT account_code_check1 CHECK ((split_part(code, ':'::text, 1) = ANY (ARRAY['assets'::text, 'liabilities'::text, 'income'::text, 'expenses'::text, 'equity'::text]))),
  CONSTRAINT account_code_key UNIQUE (code)
);
CREATE INDEX account_in_order ON ledger.account USING btree (code COLLATE "C");
CREATE INDEX account_provider ON ledger.account USING btree (split_part(code, ':'::text, 3)) WHERE (code ~~ 'liabilities:providers:%'::text);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON ledger.account FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON ledger.account FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
GRANT SELECT ON ledger.account TO hub_app;

CREATE TABLE ledger.asset (
  id smallint NOT NULL,
  code text NOT NULL,
  decimals smallint NOT NULL,
  meaning text NOT NULL,
  CONSTRAINT asset_pkey PRIMARY KEY (id),
  CONSTRAINT asset_code_key UNIQUE (code)
);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON ledger.asset FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON ledger.asset FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
GRANT SELECT ON ledger.asset TO hub_app;

CREATE TABLE ledger.balance (
  account bigint NOT NULL,
  shard smallint NOT NULL,
  asset smallint NOT NULL,
  balance bigint DEFAULT 0 NOT NULL,
  floor bigint,
  CONSTRAINT balance_pkey PRIMARY KEY (account, shard),
  CONSTRAINT balance_account_fkey FOREIGN KEY (account) REFERENCES ledger.account(id),
  CONSTRAINT balance_asset_fkey FOREIGN KEY (asset) REFERENCES ledger.asset(id),
  CONSTRAINT balance_floor CHECK ((balance >= floor))
) WITH (fillfactor=50);
GRANT SELECT ON ledger.balance TO hub_app;

CREATE TABLE ledger.checkpoint (
  shard smallint NOT NULL,
  seq bigint NOT NULL,
  hash bytea NOT NULL,
  at timestamp with time zone NOT NULL,
  key text NOT NULL,
  note text NOT NULL,
  audit bigint DEFAULT 0 NOT NULL,
  CONSTRAINT checkpoint_pkey PRIMARY KEY (shard, seq, audit),
  CONSTRAINT checkpoint_audit_check CHECK ((audit >= 0)),
  CONSTRAINT checkpoint_key_fkey FOREIGN KEY (key) REFERENCES ledger.signing_key(id),
  CONSTRAINT checkpoint_shard_seq_fkey FOREIGN KEY (shard, seq) REFERENCES ledger.seal(shard, seq_to)
);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON ledger.checkpoint FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON ledger.checkpoint FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
GRANT SELECT ON ledger.checkpoint TO hub_app;

CREATE TABLE ledger.chunk (
  shard smallint NOT NULL,
  seq_from bigint NOT NULL,
  seq_to bigint NOT NULL,
  id_first uuid NOT NULL,
  id_last uuid NOT NULL,
  CONSTRAINT chunk_pkey PRIMARY KEY (shard, seq_to),
  CONSTRAINT chunk_check CHECK ((seq_to >= seq_from)),
  CONSTRAINT chunk_check1 CHECK ((id_last >= id_first)),
  CONSTRAINT chunk_seq_from_check CHECK ((seq_from > 0)),
  CONSTRAINT chunk_shard_fkey FOREIGN KEY (shard) REFERENCES ledger.head(shard)
);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON ledger.chunk FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON ledger.chunk FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
GRANT SELECT ON ledger.chunk TO hub_app;

CREATE TABLE ledger.cosignature (
  size bigint NOT NULL,
  witness text NOT NULL,
  line text NOT NULL,
  CONSTRAINT cosignature_pkey PRIMARY KEY (size, witness),
  CONSTRAINT cosignature_line_check CHECK (((length(line) <= 400) AND (line ~ '\A— [^\n]+\n\Z'::text))),
  CONSTRAINT cosignature_size_fkey FOREIGN KEY (size) REFERENCES ledger.heads_checkpoint(size),
  CONSTRAINT cosignature_witness_check CHECK ((length(witness) <= 300))
);
CREATE INDEX cosignature_by_witness ON ledger.cosignature USING btree (witness, size);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON ledger.cosignature FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON ledger.cosignature FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
GRANT SELECT ON ledger.cosignature TO hub_app;

CREATE TABLE ledger.day_end (
  day date NOT NULL,
  seqs bigint[] NOT NULL,
  codes text[] NOT NULL,
  assets smallint[] NOT NULL,
  accounts bigint[] NOT NULL,
  debits numeric[] NOT NULL,
  credits numeric[] NOT NULL,
  CONSTRAINT day_end_pkey PRIMARY KEY (day),
  CONSTRAINT day_end_check CHECK ((cardinality(codes) = ALL (ARRAY[cardinality(assets), cardinality(accounts), cardinality(debits), cardinality(credits)])))
);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON ledger.day_end FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON ledger.day_end FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
GRANT SELECT ON ledger.day_end TO hub_app;

CREATE TABLE ledger.head (
  shard smallint NOT NULL,
  seq bigint DEFAULT 0 NOT NULL,
  hash bytea DEFAULT '\x00'::bytea NOT NULL,
  at timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
  open_since timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
  CONSTRAINT head_pkey PRIMARY KEY (shard)
) WITH (fillfactor=20);
GRANT SELECT ON ledger.head TO hub_app;

CREATE TABLE ledger.heads_checkpoint (
  size bigint NOT NULL,
  note text NOT NULL,
  key text NOT NULL,
  CONSTRAINT heads_checkpoint_pkey PRIMARY KEY (size),
  CONSTRAINT heads_checkpoint_key_fkey FOREIGN KEY (key) REFERENCES ledger.signing_key(id),
  CONSTRAINT heads_checkpoint_size_check CHECK ((size > 0))
);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON ledger.heads_checkpoint FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON ledger.heads_checkpoint FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
GRANT SELECT ON ledger.heads_checkpoint TO hub_app;

CREATE TABLE ledger.idempotency (
  owner bigint NOT NULL,
  key bytea NOT NULL,
  inputs bytea NOT NULL,
  id uuid NOT NULL,
  at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT idempotency_pkey PRIMARY KEY (owner, key),
  CONSTRAINT idempotency_inputs_check CHECK ((length(inputs) = 32)),
  CONSTRAINT idempotency_key_check CHECK ((length(key) = 32)),
  CONSTRAINT idempotency_owner_fkey FOREIGN KEY (owner) REFERENCES ledger.account(id)
);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON ledger.idempotency FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON ledger.idempotency FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
GRANT SELECT ON ledger.idempotency TO hub_app;

CREATE TABLE ledger.identity (
  id uuid DEFAULT gen_random_uuid() NOT NULL,
  single boolean DEFAULT true NOT NULL,
  CONSTRAINT identity_pkey PRIMARY KEY (single),
  CONSTRAINT identity_single_check CHECK (single)
);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON ledger.identity FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON ledger.identity FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
GRANT SELECT ON ledger.identity TO hub_app;

CREATE TABLE ledger.journal (
  id uuid NOT NULL,
  owner bigint NOT NULL,
  seq bigint NOT NULL,
  at timestamp with time zone NOT NULL,
  amount bigint NOT NULL,
  rest bigint NOT NULL,
  fee bigint NOT NULL,
  payee bigint NOT NULL,
  expires_at timestamp with time zone,
  endpoint integer NOT NULL,
  price_version integer NOT NULL,
  bps smallint NOT NULL,
  asset smallint NOT NULL,
  shard smallint NOT NULL,
  kind smallint NOT NULL,
  phase smallint NOT NULL,
  guards bigint[],
  accounts bigint[],
  amounts bigint[],
  effective_at timestamp with time zone,
  meta jsonb,
  leaf bytea NOT NULL,
  CONSTRAINT journal_pkey PRIMARY KEY (owner, id, phase),
  CONSTRAINT journal_amounts CHECK (((LEAST(amount, rest, fee) >= 0) AND (fee <= amount))),
  CONSTRAINT journal_step CHECK (
CASE phase
    WHEN 1 THEN ((kind = 1) AND (amount > 0) AND (rest = 0) AND (fee = 0) AND (expires_at IS NOT NULL))
    WHEN 2 THEN ((kind = ANY (ARRAY[2, 3, 4])) AND ((amount + rest) > 0) AND ((kind = 2) OR (amount = 0)) AND (fee = (((amount / 10000) * bps) + (((amount % (10000)::bigint) * bps) / 10000))))
    ELSE ((kind >= 16) AND ledger.is_balanced(accounts, amounts) AND ((effective_at IS NULL) OR (effective_at <= at)))
END)
) PARTITION BY RANGE (id);
CREATE INDEX journal_adjusted ON ONLY ledger.journal USING btree (at) WHERE (kind = 40);
CREATE INDEX journal_author ON ONLY ledger.journal USING btree (shard, seq) WHERE ((kind > 4) AND (meta ? 'author'::text));
CREATE INDEX journal_debt ON ONLY ledger.journal USING btree (shard, seq) WHERE ((kind = ANY (ARRAY[29, 43])) AND (9 = ANY (accounts)));
CREATE INDEX journal_late ON ONLY ledger.journal USING gist (tstzrange(effective_at, at, '[]'::text)) WHERE (effective_at IS NOT NULL);
CREATE INDEX journal_order ON ONLY ledger.journal USING btree (shard, seq);
CREATE INDEX journal_rare ON ONLY ledger.journal USING btree (shard, kind, seq) WHERE (kind > 3);
CREATE INDEX journal_receivable ON ONLY ledger.journal USING btree (kind, id) WHERE (kind = ANY (ARRAY[29, 38, 39, 43]));
CREATE INDEX journal_transaction ON ONLY ledger.journal USING btree (lower(COALESCE((meta ->> 'transaction'::text), (meta ->> 'tx'::text)))) WHERE ((kind > 4) AND (meta ?| '{tx,transaction}'::text[]));
CREATE INDEX journal_visits ON ONLY ledger.journal USING gin (accounts) WHERE (kind = ANY (ARRAY[31, 37, 40, 41]));
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON ledger.journal FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON ledger.journal FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
GRANT SELECT ON ledger.journal TO hub_app;

CREATE TABLE ledger.journal_past PARTITION OF ledger.journal FOR VALUES FROM (MINVALUE) TO ('01a19467-e800-0000-0000-000000000000');
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON ledger.journal_past FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
GRANT SELECT ON ledger.journal_past TO hub_app;

CREATE TABLE ledger.kind (
  id smallint NOT NULL,
  event text NOT NULL,
  phase smallint NOT NULL,
  debits text[],
  credits text[],
  meaning text NOT NULL,
  needs text[] DEFAULT '{}'::text[] NOT NULL,
  CONSTRAINT kind_pkey PRIMARY KEY (id),
  CONSTRAINT kind_check CHECK ((((phase = ANY (ARRAY[1, 2])) = (debits IS NULL)) AND ((debits IS NULL) = (credits IS NULL)))),
  CONSTRAINT kind_event_key UNIQUE (event),
  CONSTRAINT kind_phase_check CHECK (((phase >= 0) AND (phase <= 3)))
);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON ledger.kind FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON ledger.kind FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
GRANT SELECT ON ledger.kind TO hub_app;

CREATE TABLE ledger.seal (
  shard smallint NOT NULL,
  seq_from bigint NOT NULL,
  seq_to bigint NOT NULL,
  at timestamp with time zone NOT NULL,
  prev bytea NOT NULL,
  hash bytea NOT NULL,
  CONSTRAINT seal_pkey PRIMARY KEY (shard, seq_to),
  CONSTRAINT seal_check CHECK ((seq_to >= seq_from))
);
CREATE INDEX seal_at ON ledger.seal USING btree (shard, at, seq_to);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON ledger.seal FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON ledger.seal FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
GRANT SELECT ON ledger.seal TO hub_app;

CREATE TABLE ledger.signed_head (
  index bigint NOT NULL,
  shard smallint NOT NULL,
  seq bigint NOT NULL,
  audit bigint NOT NULL,
  note text NOT NULL,
  CONSTRAINT signed_head_pkey PRIMARY KEY (index),
  CONSTRAINT signed_head_index_check CHECK ((index >= 0)),
  CONSTRAINT signed_head_shard_seq_audit_key UNIQUE (shard, seq, audit)
);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON ledger.signed_head FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON ledger.signed_head FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
GRANT SELECT ON ledger.signed_head TO hub_app;

CREATE TABLE ledger.signing_key (
  id text NOT NULL,
  public_key bytea NOT NULL,
  since timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT signing_key_pkey PRIMARY KEY (id),
  CONSTRAINT signing_key_public_key_check CHECK ((length(public_key) = 32)),
  CONSTRAINT signing_key_public_key_key UNIQUE (public_key)
);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON ledger.signing_key FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON ledger.signing_key FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
GRANT SELECT ON ledger.signing_key TO hub_app;

CREATE TABLE ledger.snapshot (
  account bigint NOT NULL,
  shard smallint NOT NULL,
  seq_to bigint NOT NULL,
  debits numeric NOT NULL,
  credits numeric NOT NULL,
  entries smallint[] NOT NULL,
  amounts bigint[] NOT NULL,
  CONSTRAINT snapshot_pkey PRIMARY KEY (account, shard, seq_to)
);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON ledger.snapshot FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON ledger.snapshot FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
GRANT SELECT ON ledger.snapshot TO hub_app;

CREATE TABLE ledger.tile (
  shard smallint NOT NULL,
  level smallint NOT NULL,
  index bigint NOT NULL,
  hashes bytea NOT NULL,
  CONSTRAINT tile_pkey PRIMARY KEY (shard, level, index),
  CONSTRAINT tile_hashes_check CHECK ((((octet_length(hashes) >= 32) AND (octet_length(hashes) <= 8192)) AND ((octet_length(hashes) % 32) = 0))),
  CONSTRAINT tile_index_check CHECK ((index >= 0)),
  CONSTRAINT tile_level_check CHECK (((level >= 0) AND (level <= 5)))
);
CREATE TRIGGER append_only BEFORE UPDATE ON ledger.tile FOR EACH ROW WHEN ((((new.shard <> old.shard) OR (new.level <> old.level) OR (new.index <> old.index)) OR (octet_length(new.hashes) <= octet_length(old.hashes)) OR (SUBSTRING(new.hashes FROM 1 FOR octet_length(old.hashes)) <> old.hashes))) EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_delete BEFORE DELETE ON ledger.tile FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON ledger.tile FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
GRANT SELECT ON ledger.tile TO hub_app;

CREATE TABLE ledger.tree (
  shard smallint NOT NULL,
  size bigint DEFAULT 0 NOT NULL,
  CONSTRAINT tree_pkey PRIMARY KEY (shard),
  CONSTRAINT tree_size_check CHECK (((size >= 0) AND (size <= '281474976710655'::bigint)))
);
CREATE TRIGGER append_only BEFORE UPDATE ON ledger.tree FOR EACH ROW WHEN (((new.shard <> old.shard) OR (new.size <= old.size))) EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_delete BEFORE DELETE ON ledger.tree FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON ledger.tree FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
GRANT SELECT ON ledger.tree TO hub_app;

CREATE TABLE ledger.verification (
  single boolean DEFAULT true NOT NULL,
  at timestamp with time zone NOT NULL,
  sound_at timestamp with time zone,
  failures text[] NOT NULL,
  full_at timestamp with time zone,
  full_sound_at timestamp with time zone,
  full_failures text[] DEFAULT '{}'::text[] NOT NULL,
  CONSTRAINT verification_pkey PRIMARY KEY (single),
  CONSTRAINT verification_single_check CHECK (single)
);
GRANT SELECT ON ledger.verification TO hub_app;

CREATE TABLE ledger.verified_balance (
  shard smallint NOT NULL,
  account bigint NOT NULL,
  balance numeric NOT NULL,
  CONSTRAINT verified_balance_pkey PRIMARY KEY (shard, account),
  CONSTRAINT verified_balance_account_fkey FOREIGN KEY (account) REFERENCES ledger.account(id)
);
GRANT SELECT ON ledger.verified_balance TO hub_app;

CREATE VIEW ledger.debt_change AS
 SELECT r.shard,
    r.seq,
    r.id,
    r.kind,
    r.at,
    (- u.amount) AS amount,
    split_part(a.code, ':'::text, 3) AS provider
   FROM (((ledger.journal r
     CROSS JOIN LATERAL UNNEST(r.accounts, r.amounts) u(account, amount))
     JOIN ledger.journal s ON (((s.shard = r.shard) AND (s.owner = r.owner) AND (s.id = r.id) AND (s.phase = 2))))
     JOIN ledger.account a ON ((a.id = s.payee)))
  WHERE ((r.kind = 29) AND (u.account = 9))
UNION ALL
 SELECT r.shard,
    r.seq,
    r.id,
    r.kind,
    r.at,
    (- u.amount) AS amount,
    split_part(a.code, ':'::text, 3) AS provider
   FROM ((ledger.journal r
     CROSS JOIN LATERAL UNNEST(r.accounts, r.amounts) u(account, amount))
     JOIN ledger.account a ON ((a.id = r.owner)))
  WHERE ((r.kind = 43) AND (u.account = 9))
UNION ALL
 SELECT r.shard,
    r.seq,
    r.id,
    r.kind,
    r.at,
    u.amount,
    split_part(a.code, ':'::text, 3) AS provider
   FROM ((ledger.journal r
     CROSS JOIN LATERAL UNNEST(r.accounts, r.amounts) u(account, amount))
     JOIN ledger.account a ON ((a.id = u.account)))
  WHERE ((r.kind = 38) AND (u.account <> 9))
UNION ALL
 SELECT r.shard,
    r.seq,
    r.id,
    r.kind,
    r.at,
    (- u.amount) AS amount,
    COALESCE((r.meta ->> 'provider'::text), 'unattributed'::text) AS provider
   FROM (ledger.journal r
     CROSS JOIN LATERAL UNNEST(r.accounts, r.amounts) u(account, amount))
  WHERE ((r.kind = ANY (ARRAY[39, 40])) AND (u.account = 9));
GRANT SELECT ON ledger.debt_change TO hub_app;

CREATE VIEW ledger.open_hold AS
 SELECT id,
    owner,
    seq,
    at,
    amount,
    rest,
    fee,
    payee,
    expires_at,
    endpoint,
    price_version,
    bps,
    asset,
    shard,
    kind,
    phase,
    guards,
    accounts,
    amounts,
    effective_at,
    meta,
    leaf
   FROM ledger.journal r
  WHERE ((phase = 1) AND (NOT (EXISTS ( SELECT 1
           FROM ledger.journal s
          WHERE ((s.shard = r.shard) AND (s.owner = r.owner) AND (s.id = r.id) AND (s.phase = 2))))));
GRANT SELECT ON ledger.open_hold TO hub_app;

CREATE VIEW ledger.period AS
 SELECT (((meta ->> 'month'::text) || '-01'::text))::date AS month,
    COALESCE(((meta ->> 'closed_at'::text))::timestamp with time zone, at) AS closed_at,
    (meta ->> 'author'::text) AS author,
    shard,
    seq,
    at
   FROM ledger.journal j
  WHERE ((owner = 60) AND (phase = 0));
GRANT SELECT ON ledger.period TO hub_app;

CREATE VIEW ledger.posting AS
 SELECT j.shard,
    j.seq,
    l.n,
    j.id,
    j.owner,
    j.phase,
    k.event,
    j.at,
    COALESCE(j.effective_at, j.at) AS effective_at,
    a.code AS account,
    s.code AS asset,
    l.amount,
    l.account AS account_id
   FROM ((((ledger.journal j
     JOIN ledger.kind k ON ((k.id = j.kind)))
     CROSS JOIN LATERAL ledger.legs(ROW(j.id, j.owner, j.seq, j.at, j.amount, j.rest, j.fee, j.payee, j.expires_at, j.endpoint, j.price_version, j.bps, j.asset, j.shard, j.kind, j.phase, j.guards, j.accounts, j.amounts, j.effective_at, j.meta, j.leaf)::ledger.journal) l(n, account, amount))
     JOIN ledger.account a ON ((a.id = l.account)))
     JOIN ledger.asset s ON ((s.id = a.asset)));
GRANT SELECT ON ledger.posting TO hub_app;

CREATE OR REPLACE FUNCTION ledger.account_group(code text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN ((split_part(code, ':'::text, 3) <> ''::text) AND ((((((split_part(code, ':'::text, 1) = 'liabilities'::text) AND (split_part(code, ':'::text, 2) = 'agents'::text)) OR ((split_part(code, ':'::text, 1) = 'liabilities'::text) AND (split_part(code, ':'::text, 2) = 'providers'::text))) OR ((split_part(code, ':'::text, 1) = 'liabilities'::text) AND (split_part(code, ':'::text, 2) = 'free-calls'::text))) OR ((split_part(code, ':'::text, 1) = 'liabilities'::text) AND (split_part(code, ':'::text, 2) = 'allowances'::text))) OR ((split_part(code, ':'::text, 1) = 'income'::text) AND (split_part(code, ':'::text, 2) = 'services'::text)))) THEN (((split_part(code, ':'::text, 1) || ':'::text) || split_part(code, ':'::text, 2)) || ':'::text) ELSE code END;
GRANT EXECUTE ON FUNCTION ledger.account_group(text) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.add_checkpoint(p_shard smallint, p_seq bigint, p_audit bigint, p_hash bytea, p_at timestamp with time zone, p_key text, p_note text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'ledger', 'pg_temp'
AS $function$
DECLARE
  newest checkpoint;
  after bigint;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('ledger.checkpoint'), p_shard);
  PERFORM 1 FROM seal s WHERE s.shard = p_shard AND s.seq_to = p_seq AND s.hash = p_hash;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'shard % has no seal of seq % with this hash', p_shard, p_seq
      USING ERRCODE = 'check_violation';
  END IF;
  SELECT * INTO newest FROM checkpoint c WHERE c.shard = p_shard ORDER BY c.seq DESC, c.audit DESC LIMIT 1;
  IF (p_seq, p_audit) <= (newest.seq, newest.audit) OR p_seq < newest.seq OR p_audit < newest.audit THEN
    RAISE EXCEPTION 'shard % has a checkpoint of seq % already', p_shard, newest.seq
      USING ERRCODE = 'check_violation';
  END IF;
  after := coalesce(newest.seq, 0);
  WITH step AS MATERIALIZED (
    SELECT j.owner, j.payee, j.asset,
      sum(CASE WHEN j.phase = 1 THEN -j.amount ELSE j.rest END)
        FILTER (WHERE CASE WHEN j.phase = 1 THEN j.amount ELSE j.rest END <> 0) AS back,
      sum(CASE WHEN j.phase = 1 THEN j.amount ELSE -j.amount - j.rest END)
        FILTER (WHERE CASE WHEN j.phase = 1 THEN j.amount ELSE j.amount + j.rest END <> 0) AS held,
      sum(j.amount - j.fee) FILTER (WHERE j.phase <> 1 AND j.amount <> j.fee) AS share,
      sum(j.fee) FILTER (WHERE j.phase <> 1 AND j.fee <> 0) AS fee
    FROM journal j WHERE j.shard = p_shard AND j.seq > after AND j.seq <= p_seq
      AND num_nonnulls(j.accounts, j.amounts, j.guards) = 0
    GROUP BY j.owner, j.payee, j.asset
  )
  INSERT INTO verified_balance AS v SELECT p_shard, l.account, sum(l.amount) FROM (
    SELECT s.owner AS account, s.back AS amount FROM step s
    UNION ALL
    SELECT holds_account(s.asset), s.held FROM step s
    UNION ALL
    SELECT s.payee, s.share FROM step s
    UNION ALL
    SELECT 1, s.fee FROM step s
    UNION ALL
    SELECT l.account, l.amount FROM journal j
      CROSS JOIN LATERAL legs(ROW(j.*)::journal) l
      WHERE j.shard = p_shard AND j.seq > after AND j.seq <= p_seq
        AND num_nonnulls(j.accounts, j.amounts, j.guards) > 0
  ) l WHERE l.amount IS NOT NULL GROUP BY l.account
    ON CONFLICT (shard, account) DO UPDATE SET balance = v.balance + excluded.balance;
  INSERT INTO checkpoint (shard, seq, hash, at, key, note, audit)
    VALUES (p_shard, p_seq, p_hash, p_at, p_key, p_note, p_audit);
END $function$;
GRANT EXECUTE ON FUNCTION ledger.add_checkpoint(smallint,bigint,bigint,bytea,timestamp with time zone,text,text) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.add_cosignature(p_size bigint, p_witness text, p_line text)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'ledger', 'pg_temp'
AS $function$
  INSERT INTO cosignature (size, witness, line) VALUES (p_size, p_witness, p_line) ON CONFLICT DO NOTHING
$function$;
GRANT EXECUTE ON FUNCTION ledger.add_cosignature(bigint,text,text) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.add_heads_checkpoint(p_size bigint, p_key text, p_note text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'ledger', 'pg_temp'
AS $function$
BEGIN
  PERFORM FROM tree t WHERE t.shard = -1 AND t.size >= p_size;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the tree of checkpoints has less than % leaves', p_size
      USING ERRCODE = 'check_violation';
  END IF;
  INSERT INTO heads_checkpoint (size, note, key) VALUES (p_size, p_note, p_key) ON CONFLICT DO NOTHING;
END $function$;
GRANT EXECUTE ON FUNCTION ledger.add_heads_checkpoint(bigint,text,text) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.add_signed_head(p_shard smallint)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'ledger', 'pg_temp'
AS $function$
DECLARE
  newest checkpoint;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('ledger.add_signed_head'));
  SELECT * INTO newest FROM checkpoint c WHERE c.shard = p_shard ORDER BY c.seq DESC, c.audit DESC LIMIT 1;
  IF NOT FOUND THEN RETURN; END IF;
  INSERT INTO signed_head (index, shard, seq, audit, note)
    VALUES ((SELECT coalesce(max(s.index), -1) + 1 FROM signed_head s), p_shard, newest.seq, newest.audit,
      newest.note)
    ON CONFLICT (shard, seq, audit) DO NOTHING;
END $function$;
GRANT EXECUTE ON FUNCTION ledger.add_signed_head(smallint) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.add_signing_key(p_id text, p_public_key bytea)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'ledger', 'pg_temp'
AS $function$
  INSERT INTO signing_key (id, public_key) VALUES (p_id, p_public_key) ON CONFLICT DO NOTHING $function$;
GRANT EXECUTE ON FUNCTION ledger.add_signing_key(text,bytea) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.apply(p_shard smallint, k smallint[], owner bigint[], id uuid[], amount bigint[], asset smallint[], payee bigint[], bps smallint[], ttl integer[], endpoint integer[], price_version integer[], guard_n integer[], guard bigint[], exact boolean, OUT outcomes smallint[], OUT owners bigint[], OUT balances bigint[])
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'ledger', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_material TO 'off'
 SET jit TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
AS $function$
#variable_conflict use_column
DECLARE
  size integer := cardinality(k);
  base bigint;
  link bytea;
  instant timestamptz;
  first uuid;
  final uuid;
  short bigint[];
  skipped boolean[]; -- operations that are not to be booked; null: none that is known before
  applied integer;
  touched bigint[];
  deltas bigint[];
  next bytea;
  updated integer;
BEGIN
  -- The bounds let PostgreSQL leave out all partitions but those of the batch before it starts.
  SELECT x.ids[1], x.ids[size] INTO first, final
    FROM (SELECT array_agg(u ORDER BY u) FROM unnest(id) u) x(ids);
  SELECT h.seq, h.hash, greatest(clock_timestamp(), h.at) INTO STRICT base, link, instant
    FROM head h WHERE h.shard = p_shard FOR NO KEY UPDATE;

  -- Which accounts cannot pay for everything that this batch asks of them, or are not there at all?
  -- This is the journal's foreign key too: it costs a probe for each account, and not for each row.
  SELECT array_agg(d.account) INTO short FROM (
      SELECT o.owner AS account, o.asset, sum(o.amount)::bigint AS demand
        FROM unnest(k, owner, asset, amount) o(k, owner, asset, amount)
        WHERE o.k = 1 GROUP BY o.owner, o.asset
      UNION ALL
      SELECT g.account, 4, sum(amount[g.n])::bigint FROM unnest(guard_n, guard) g(n, account)
        GROUP BY g.account
      UNION ALL
      SELECT o.payee, o.asset, 0 FROM unnest(k, payee, asset) o(k, payee, asset)
        WHERE o.k = 1 GROUP BY o.payee, o.asset) d
    LEFT JOIN balance b ON b.account = d.account AND b.shard = p_shard
    WHERE b.account IS NULL OR b.asset <> d.asset OR b.balance - b.floor < d.demand;
  IF exact THEN
    SELECT array_agg(EXISTS (SELECT FROM journal r WHERE r.owner = o.owner AND r.id = o.id
        AND r.id BETWEEN first AND final AND r.phase = least(o.k, 2)) ORDER BY o.n) INTO skipped
      FROM unnest(k, owner, id) WITH ORDINALITY o(k, owner, id, n);
  END IF;
  IF short IS NOT NULL THEN
    skipped := refuse(p_shard, k, owner, id, amount, asset, payee, guard_n, guard, instant, first, final,
      short, skipped);
  END IF;

  INSERT INTO journal SELECT x.*, sha256(record_send(ROW(x.*))) FROM (
    SELECT o.id, o.owner, base + row_number() OVER () AS seq, instant AS at,
      CASE WHEN o.k > 2 THEN 0 ELSE o.amount END AS amount,
      CASE o.k WHEN 1 THEN 0 WHEN 2 THEN h.amount - o.amount ELSE h.amount END AS rest,
      CASE o.k WHEN 2 THEN o.amount / 10000 * h.bps + o.amount % 10000 * h.bps / 10000 ELSE 0 END AS fee,
      coalesce(h.payee, o.payee) AS payee,
      CASE o.k WHEN 1 THEN instant + make_interval(secs => o.ttl) END AS expires_at,
      coalesce(h.endpoint, o.endpoint) AS endpoint,
      coalesce(h.price_version, o.price_version) AS price_version, coalesce(h.bps, o.bps) AS bps,
      coalesce(h.asset, o.asset) AS asset, p_shard AS shard, o.k AS kind,
      CASE o.k WHEN 1 THEN 1 ELSE 2 END::smallint AS phase,
      CASE WHEN o.k > 1 THEN h.guards WHEN cardinality(guard_n) > 0
        THEN guards_of(o.n::integer, guard_n, guard) END AS guards,
      NULL::bigint[] AS accounts, NULL::bigint[] AS amounts, NULL::timestamptz AS effective_at,
      NULL::jsonb AS meta
    FROM unnest(k, owner, id, amount, asset, payee, bps, ttl, endpoint, price_version)
      WITH ORDINALITY o(k, owner, id, amount, asset, payee, bps, ttl, endpoint, price_version, n)
    LEFT JOIN LATERAL (SELECT * FROM journal h WHERE o.k > 1 AND h.owner = o.owner AND h.id = o.id
      AND h.id BETWEEN first AND final AND h.phase = 1 LIMIT 1) h ON true
    WHERE (skipped IS NULL OR NOT skipped[o.n]) AND CASE o.k WHEN 1 THEN true
      WHEN 2 THEN o.amount <= h.amount WHEN 3 THEN h.amount IS NOT NULL
      ELSE h.expires_at <= instant END) x;
  GET DIAGNOSTICS applied = ROW_COUNT;

  IF applied > 0 THEN
    -- What was written, read back once: the chain's next link, and the change of each account as
    -- ledger.legs has it, but by set. Verification and a property test hold the two equal.
    WITH written AS MATERIALIZED (
      SELECT j.seq, j.owner, j.payee, j.asset, j.phase, j.guards, j.leaf, j.fee,
        j.amount - j.fee AS share,
        CASE j.phase WHEN 1 THEN -j.amount ELSE j.rest END AS back,
        CASE j.phase WHEN 2 THEN j.amount ELSE 0 END AS used
      FROM journal j WHERE j.shard = p_shard AND j.seq BETWEEN base + 1 AND base + applied
        AND j.id BETWEEN first AND final
    ), change(account, amount) AS (
      SELECT w.owner, w.back FROM written w
      UNION ALL
      SELECT w.payee, w.share FROM written w WHERE w.phase = 2
      UNION ALL
      SELECT v.account, v.amount
        FROM (SELECT w.asset, -sum(w.back + w.used)::bigint AS held, sum(w.fee)::bigint AS fee
          FROM written w GROUP BY w.asset) w
        CROSS JOIN LATERAL (VALUES (holds_account(w.asset), w.held),
          (CASE w.asset WHEN 1 THEN 1 END, w.fee)) v(account, amount) -- no account: an error below
      UNION ALL
      SELECT v.account, v.amount FROM written w
        CROSS JOIN LATERAL (SELECT g, w.back FROM unnest(w.guards) g
          UNION ALL VALUES (40::bigint, cardinality(w.guards) * (-w.back - w.used)),
            (42, cardinality(w.guards) * w.used)) v(account, amount)
        WHERE w.guards IS NOT NULL
    )
    SELECT (SELECT sha256(link || string_agg(w.leaf, '' ORDER BY w.seq)) FROM written w),
        array_agg(d.account ORDER BY d.account), array_agg(d.delta ORDER BY d.account)
      INTO next, touched, deltas
      FROM (SELECT c.account, sum(c.amount)::bigint AS delta FROM change c GROUP BY 1) d
      WHERE d.delta <> 0;
    UPDATE balance b SET balance = b.balance + deltas[width_bucket(b.account, touched)]
      WHERE b.account = ANY (touched) AND b.shard = p_shard;
    GET DIAGNOSTICS updated = ROW_COUNT;
    IF updated <> cardinality(touched) THEN
      RAISE EXCEPTION 'an account in the batch has no balance on shard %', p_shard;
    END IF;
    INSERT INTO seal VALUES (p_shard, base + 1, base + applied, instant, link, next);
    UPDATE head SET seq = base + applied, hash = next, at = instant WHERE shard = p_shard;
    PERFORM pg_notify('ledger', p_shard::text);
  END IF;

  IF applied = size THEN outcomes := array_fill(1::smallint, ARRAY[size]);
  ELSE outcomes := explain(k, owner, id, amount, asset, payee, bps, endpoint, price_version, guard_n, guard,
    base, instant, first, final);
  END IF;
  SELECT array_agg(b.account), array_agg(b.balance) INTO owners, balances FROM balance b
    WHERE b.account = ANY (ARRAY(SELECT o.owner FROM unnest(k, owner) o(k, owner) WHERE o.k > 1))
      AND b.shard = p_shard;
END $function$;
GRANT EXECUTE ON FUNCTION ledger.apply(smallint,smallint[],bigint[],uuid[],bigint[],smallint[],bigint[],smallint[],integer[],integer[],integer[],integer[],bigint[],boolean) TO hub_finance;

CREATE OR REPLACE FUNCTION ledger.balance_after(p_account bigint, p_shard smallint, p_seq bigint)
 RETURNS bigint
 LANGUAGE plpgsql
 STABLE
AS $function$
DECLARE
  reached bigint;
  held numeric;
BEGIN
  SELECT s.seq_to, s.credits - s.debits INTO reached, held FROM ledger.snapshot s
    WHERE s.account = p_account AND s.shard = p_shard AND s.seq_to <= p_seq ORDER BY s.seq_to DESC LIMIT 1;
  RETURN coalesce(held, 0) + coalesce((SELECT sum(n.amount)
    FROM ledger.next_entries(p_account, p_shard, coalesce(reached, 0), p_seq, 1000000000) n), 0);
END $function$;
GRANT EXECUTE ON FUNCTION ledger.balance_after(bigint,smallint,bigint) TO PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.balance_after(bigint,smallint,bigint) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.balances_hash(p_shard smallint, p_after bigint, p_upto bigint)
 RETURNS bytea
 LANGUAGE sql
 STABLE
AS $function$
  SELECT sha256(convert_to(coalesce(string_agg(
    concat(v.account, ' ', a.code, ' ', s.code, ' ', v.balance, E'\n'), '' ORDER BY v.account), ''), 'UTF8'))
  FROM ledger.verified_at(p_shard, p_after, p_upto) v
  LEFT JOIN ledger.account a ON a.id = v.account LEFT JOIN ledger.asset s ON s.id = a.asset $function$;
GRANT EXECUTE ON FUNCTION ledger.balances_hash(smallint,bigint,bigint) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.booked_at(p_accounts bigint[], p_at timestamp with time zone, p_shard smallint DEFAULT '-1'::integer, p_seq bigint DEFAULT 0)
 RETURNS TABLE(account bigint, debits numeric, credits numeric)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'ledger', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET jit TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
#variable_conflict use_column
DECLARE
  single bigint := CASE cardinality(p_accounts) WHEN 1 THEN p_accounts[1] END;
  tail_accounts bigint[];
  tail_amounts bigint[];
BEGIN
  -- A statement of its own, since most points have no tail: only to prepare to read it takes a while.
  IF EXISTS (SELECT FROM cut(p_at, p_shard, p_seq) c WHERE c.seq > c.chunk_to) THEN
    SELECT array_agg(m.account), array_agg(m.amount) INTO tail_accounts, tail_amounts
      FROM cut(p_at, p_shard, p_seq) c
      CROSS JOIN LATERAL movements(c.shard, c.chunk_to, c.seq, single) m
      WHERE c.seq > c.chunk_to
        AND c.shard = coalesce((SELECT a.home FROM account a WHERE a.id = single), c.shard);
  END IF;
  RETURN QUERY
  WITH once AS MATERIALIZED (
    SELECT * FROM cut(p_at, p_shard, p_seq)
  ), place AS MATERIALIZED (
    SELECT a.id AS account, c.* FROM unnest(p_accounts) w(id) JOIN account a ON a.id = w.id
      JOIN once c ON c.shard = a.home OR a.home IS NULL
  )
  SELECT p.account, s.debits - coalesce(o.debits, 0), s.credits - coalesce(o.credits, 0)
    FROM place p
    CROSS JOIN LATERAL (SELECT * FROM snapshot s WHERE s.account = p.account AND s.shard = p.shard
      AND s.seq_to <= p.chunk_to ORDER BY s.seq_to DESC LIMIT 1) s
    CROSS JOIN LATERAL (SELECT -sum(least(u.amount, 0)) AS debits, sum(greatest(u.amount, 0)) AS credits
      FROM unnest(s.amounts[width_bucket((p.seq - s.seq_to)::smallint, s.entries) + 1:]) u(amount)
      WHERE s.seq_to > p.seq) o
  UNION ALL
  SELECT m.account, greatest(-m.amount, 0), greatest(m.amount, 0)
    FROM unnest(tail_accounts, tail_amounts) m(account, amount);
END $function$;
GRANT EXECUTE ON FUNCTION ledger.booked_at(bigint[],timestamp with time zone,smallint,bigint) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.by_group(p_accounts bigint[], p_balances numeric[])
 RETURNS TABLE(code text, asset smallint, accounts bigint, debits numeric, credits numeric)
 LANGUAGE sql
 STABLE
AS $function$
  SELECT ledger.account_group(a.code), a.asset, count(*), sum(greatest(-b.balance, 0)),
    sum(greatest(b.balance, 0))
  FROM unnest(p_accounts, p_balances) b(account, balance) JOIN ledger.account a ON a.id = b.account
  WHERE b.balance <> 0 GROUP BY 1, 2 $function$;
GRANT EXECUTE ON FUNCTION ledger.by_group(bigint[],numeric[]) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.charges_between(p_account bigint, p_shard smallint, p_after bigint, p_upto bigint)
 RETURNS TABLE(payee bigint, entries bigint, first_seq bigint, last_seq bigint, amount bigint)
 LANGUAGE plpgsql
 STABLE ROWS 100
AS $function$
DECLARE
  ids record;
BEGIN
  SELECT i.* INTO ids FROM ledger.ids_between(p_shard, p_after + 1, p_upto) i;
  RETURN QUERY SELECT j.payee, count(*), min(j.seq), max(j.seq), sum(j.amount)::bigint FROM ledger.journal j
    WHERE j.owner = p_account AND j.id BETWEEN ids.id_first AND ids.id_last
      AND j.phase = 2 AND j.kind = 2 AND j.shard = p_shard AND j.seq > p_after AND j.seq <= p_upto
    GROUP BY j.payee;
END $function$;
GRANT EXECUTE ON FUNCTION ledger.charges_between(bigint,smallint,bigint,bigint) TO PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.charges_between(bigint,smallint,bigint,bigint) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.check_debt(p_kind ledger.kind, p_accounts bigint[], p_amounts bigint[], p_meta jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'ledger', 'pg_temp'
AS $function$
DECLARE
  debtor text := p_meta ->> 'provider';
  cleared bigint;
  place smallint;
BEGIN
  IF p_kind.id NOT IN (39, 40) OR NOT 9 = ANY (p_accounts) THEN RETURN; END IF;
  IF coalesce(debtor, '') = '' THEN
    RAISE EXCEPTION '% needs the provider whose debt it changes', p_kind.event
      USING ERRCODE = 'check_violation';
  END IF;
  PERFORM 1 FROM hub.provider WHERE id = debtor FOR NO KEY UPDATE;
  FOR place IN SELECT h.shard FROM head h ORDER BY h.shard LOOP
    PERFORM 1 FROM balance WHERE account = 9 AND shard = place FOR UPDATE;
  END LOOP;
  SELECT sum(u.amount) INTO cleared FROM unnest(p_accounts, p_amounts) u(account, amount) WHERE u.account = 9;
  IF cleared > (SELECT coalesce(sum(d.amount), 0) FROM debt_change d WHERE d.provider = debtor) THEN
    RAISE EXCEPTION 'provider % owes less', debtor USING ERRCODE = 'check_violation';
  END IF;
END $function$;

CREATE OR REPLACE FUNCTION ledger.check_entry(p_kind ledger.kind, p_accounts bigint[], p_amounts bigint[], p_meta jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'ledger', 'pg_temp'
AS $function$
DECLARE
  offender text;
BEGIN
  IF EXISTS (SELECT FROM unnest(p_accounts, p_amounts) u(account, amount)
      LEFT JOIN account a ON a.id = u.account GROUP BY a.asset HAVING sum(u.amount) <> 0
        OR a.asset IS NULL) THEN
    RAISE EXCEPTION 'not balanced, or an unknown account: % %', p_accounts, p_amounts
      USING ERRCODE = 'check_violation';
  END IF;
  SELECT a.code INTO offender FROM unnest(p_accounts, p_amounts) u(account, amount)
    JOIN account a ON a.id = u.account
    WHERE u.amount = 0 OR a.id IN (2, 30, 40) -- what is held, only the steps of calls may change
      OR a.id = 7 AND p_kind.event = 'balance.adjusted' -- in transit, only payouts
      OR NOT a.code LIKE ANY (CASE WHEN u.amount < 0 THEN p_kind.debits ELSE p_kind.credits END)
    LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION '% may not be booked on % so', p_kind.event, offender USING ERRCODE = 'check_violation';
  END IF;
  IF (SELECT count(DISTINCT split_part(a.code, ':', 3)) FROM unnest(p_accounts) u(account)
      JOIN account a ON a.id = u.account WHERE a.code LIKE 'assets:usdc:%') > 1 THEN
    RAISE EXCEPTION '% may not be booked on the accounts of two networks', p_kind.event
      USING ERRCODE = 'check_violation';
  END IF;
  SELECT n INTO offender FROM unnest(p_kind.needs) n
    WHERE coalesce(length(trim(p_meta ->> n)), 0) = 0 LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION '% needs a % in its meta', p_kind.event, offender USING ERRCODE = 'check_violation';
  END IF;
  PERFORM check_debt(p_kind, p_accounts, p_amounts, p_meta);
  PERFORM check_lapse(p_kind, p_accounts, p_amounts, p_meta);
END $function$;

CREATE OR REPLACE FUNCTION ledger.check_lapse(p_kind ledger.kind, p_accounts bigint[], p_amounts bigint[], p_meta jsonb)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'ledger', 'pg_temp'
AS $function$
DECLARE
  notice uuid := p_meta ->> 'notice';
  expired bigint;
  credits bigint[]; -- accounts of the principal that the notice was sent to
  earlier bigint; -- has lapsed by this notice already
BEGIN
  IF p_kind.event <> 'credits.lapsed' THEN RETURN; END IF;
  IF notice IS NOT NULL THEN
    SELECT sum(u) INTO expired FROM unnest(p_amounts) u WHERE u > 0;
    SELECT array_agg(k.credits) INTO credits FROM hub.lapse_notice n
      JOIN hub.api_key k ON k.principal = n.principal WHERE n.id = notice AND k.credits IS NOT NULL;
    SELECT coalesce(sum(-j.amounts[1]), 0) INTO earlier FROM journal j
      WHERE j.id = notice AND j.phase = 0 AND j.owner = ANY (credits);
    IF p_accounts[1] = ANY (credits) IS NOT TRUE OR NOT EXISTS (SELECT 1 FROM hub.lapse_notice n
        WHERE n.id = notice AND n.done_at IS NULL AND n.due_at <= clock_timestamp()
          AND n.amount >= expired + earlier) THEN
      RAISE EXCEPTION 'no notice is due of so many credits' USING ERRCODE = 'check_violation';
    END IF;
  ELSIF EXISTS (SELECT 1 FROM hub.api_key k
      WHERE k.credits = ANY (p_accounts) AND k.parent IS NULL AND k.revoked_at IS NULL
        AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp())) THEN
    RAISE EXCEPTION 'the key works: its credits do not lapse' USING ERRCODE = 'check_violation';
  END IF;
END $function$;

CREATE OR REPLACE FUNCTION ledger.check_vanished(p_kind ledger.kind, p_shard smallint, p_id uuid, p_accounts bigint[], p_amounts bigint[])
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'ledger', 'pg_temp'
AS $function$
DECLARE
  place record;
  sale journal;
  received bigint; -- account of what is received on the network of the sale and not final yet
BEGIN
  IF p_kind.event <> 'receipt.vanished' THEN RETURN; END IF;
  FOR place IN SELECT * FROM owners_of(p_id) LOOP
    SELECT * INTO sale FROM journal WHERE shard = p_shard AND owner = place.owner AND id = p_id
      AND phase = 0 AND kind IN (16, 18);
    EXIT WHEN FOUND;
  END LOOP;
  IF sale.id IS NULL THEN
    RAISE EXCEPTION 'no sale % to reverse on shard %', p_id, p_shard USING ERRCODE = 'check_violation';
  END IF;
  SELECT u.account INTO received FROM unnest(sale.accounts, sale.amounts) u(account, amount)
    WHERE u.amount < 0 LIMIT 1;
  IF EXISTS (SELECT 1 FROM unnest(p_accounts, p_amounts) u(account, amount)
      WHERE NOT CASE WHEN u.amount > 0 THEN u.account = received
        ELSE u.account = 15 OR u.account = ANY (sale.accounts) END)
      OR (SELECT sum(u) FROM unnest(p_amounts) u WHERE u > 0)
        <> (SELECT -sum(u) FROM unnest(sale.amounts) u WHERE u < 0) THEN
    RAISE EXCEPTION 'the sale % is reversed on the accounts that it changed, in full', p_id
      USING ERRCODE = 'check_violation';
  END IF;
  IF EXISTS (SELECT 1 FROM journal WHERE owner = received AND id = p_id AND phase = 0 AND kind = 17) THEN
    RAISE EXCEPTION 'the payment % is final', p_id USING ERRCODE = 'check_violation';
  END IF;
END $function$;

CREATE OR REPLACE FUNCTION ledger.chunk_ids(p_shard smallint, p_from bigint, p_to bigint)
 RETURNS TABLE(id_first uuid, id_last uuid)
 LANGUAGE sql
 STABLE
AS $function$
  SELECT x.ids[1], x.ids[cardinality(x.ids)] FROM (SELECT array_agg(j.id ORDER BY j.id)
    FROM ledger.journal j WHERE j.shard = p_shard AND j.seq BETWEEN p_from AND p_to) x(ids) $function$;
GRANT EXECUTE ON FUNCTION ledger.chunk_ids(smallint,bigint,bigint) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.chunk_size()
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE
RETURN 1024;

CREATE OR REPLACE FUNCTION ledger.claim_key(p_owner bigint, p_key text, p_inputs text, p_id uuid, OUT id uuid, OUT outcome smallint)
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'ledger', 'pg_temp'
AS $function$
#variable_conflict use_column
DECLARE
  hash bytea := sha256(convert_to(p_key, 'UTF8'));
  known idempotency;
BEGIN
  INSERT INTO idempotency (owner, key, inputs, id)
    VALUES (p_owner, hash, sha256(convert_to(p_inputs, 'UTF8')), p_id) ON CONFLICT DO NOTHING;
  IF FOUND THEN
    claim_key.id := p_id;
    outcome := 1;
    RETURN;
  END IF;
  SELECT * INTO STRICT known FROM idempotency i WHERE i.owner = p_owner AND i.key = hash;
  claim_key.id := known.id;
  outcome := CASE WHEN known.inputs = sha256(convert_to(p_inputs, 'UTF8')) THEN 2 ELSE 5 END;
END $function$;
GRANT EXECUTE ON FUNCTION ledger.claim_key(bigint,text,text,uuid) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.close_period(p_month date, p_author text)
 RETURNS SETOF date
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'ledger', 'pg_temp'
AS $function$
DECLARE
  place smallint;
  first date;
  closing date;
BEGIN
  FOR place IN SELECT h.shard FROM head h ORDER BY h.shard LOOP -- nobody posts while the month is closed
    PERFORM 1 FROM head h WHERE h.shard = place FOR UPDATE;
  END LOOP;
  IF (p_month + interval '1 month') AT TIME ZONE 'UTC' > clock_timestamp() THEN
    RAISE EXCEPTION 'the month % is not over yet', to_char(p_month, 'YYYY-MM')
      USING ERRCODE = 'check_violation';
  END IF;
  SELECT max(p.month) + interval '1 month' INTO first FROM period p;
  IF first IS NULL THEN
    SELECT least(date_trunc('month', min(s.at) AT TIME ZONE 'UTC'), p_month) INTO first FROM seal s;
  END IF;
  FOR closing IN SELECT generate_series(first, p_month, interval '1 month') LOOP
    PERFORM post_closing(closing, jsonb_build_object('author', p_author));
    RETURN NEXT closing;
  END LOOP;
END $function$;
GRANT EXECUTE ON FUNCTION ledger.close_period(date,text) TO hub_finance;

CREATE OR REPLACE FUNCTION ledger.credited_at(p_provider text, p_since timestamp with time zone)
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE
AS $function$
  SELECT max(j.at)
  FROM ledger.journal j CROSS JOIN LATERAL unnest(j.accounts, j.amounts) u(account, amount)
  JOIN ledger.account a ON a.id = u.account
  WHERE j.kind = 40 AND j.at > p_since AND u.amount > 0
    AND a.code LIKE 'liabilities:providers:%' AND split_part(a.code, ':', 3) = p_provider $function$;
GRANT EXECUTE ON FUNCTION ledger.credited_at(text,timestamp with time zone) TO PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.credited_at(text,timestamp with time zone) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.cut(p_at timestamp with time zone, p_shard smallint DEFAULT '-1'::integer, p_seq bigint DEFAULT 0)
 RETURNS TABLE(shard smallint, seq bigint, chunk_to bigint)
 LANGUAGE sql
 STABLE
AS $function$
  SELECT p.shard, p.seq, coalesce(
    (SELECT c.seq_to FROM ledger.chunk c WHERE c.shard = p.shard AND c.seq_to >= p.seq
      ORDER BY c.seq_to LIMIT 1),
    (SELECT max(c.seq_to) FROM ledger.chunk c WHERE c.shard = p.shard), 0)
  FROM (SELECT h.shard, least(CASE WHEN h.shard = p_shard THEN p_seq END, coalesce(
      (SELECT s.seq_to FROM ledger.seal s WHERE s.shard = h.shard
        AND s.at < p_at + CASE WHEN h.shard <= p_shard THEN interval '1 microsecond' ELSE '0' END
        ORDER BY s.at DESC, s.seq_to DESC LIMIT 1), 0)) AS seq
    FROM ledger.head h OFFSET 0) p $function$;
GRANT EXECUTE ON FUNCTION ledger.cut(timestamp with time zone,smallint,bigint) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.drop_snapshots()
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
  name regclass;
BEGIN
  FOREACH name IN ARRAY ARRAY['ledger.chunk', 'ledger.snapshot', 'ledger.day_end']::regclass[] LOOP
    EXECUTE format('ALTER TABLE %s DISABLE TRIGGER append_only_truncate', name);
    EXECUTE format('TRUNCATE %s', name);
    EXECUTE format('ALTER TABLE %s ENABLE TRIGGER append_only_truncate', name);
  END LOOP;
END $function$;

CREATE OR REPLACE FUNCTION ledger.earnings_of(p_provider text)
 RETURNS TABLE(service text, owed bigint)
 LANGUAGE sql
 STABLE ROWS 10
AS $function$
  SELECT split_part(a.code, ':', 4), sum(b.balance)::bigint
  FROM ledger.account a JOIN ledger.balance b ON b.account = a.id
  WHERE a.code LIKE 'liabilities:providers:%' AND split_part(a.code, ':', 3) = p_provider GROUP BY 1 $function$;
GRANT EXECUTE ON FUNCTION ledger.earnings_of(text) TO PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.earnings_of(text) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.end_days(p_limit integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'ledger', 'pg_temp'
 SET jit TO 'off'
AS $function$
DECLARE
  today date := ((now() - interval '5 minutes') AT TIME ZONE 'UTC')::date;
  first date := (SELECT (min((SELECT s.at FROM seal s WHERE s.shard = h.shard ORDER BY s.at LIMIT 1))
    AT TIME ZONE 'UTC')::date FROM head h);
  next date;
  made integer := 0;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('ledger.end_days'), 0);
  FOR next IN SELECT today - n FROM generate_series(1, today - first) n
      WHERE NOT EXISTS (SELECT FROM day_end e WHERE e.day = today - n) ORDER BY n LIMIT p_limit LOOP
    INSERT INTO day_end SELECT next, ARRAY(SELECT c.seq FROM cut(o.midnight) c ORDER BY c.shard), g.*
      FROM (SELECT (next + 1)::timestamp AT TIME ZONE 'UTC' AS midnight) o
      CROSS JOIN LATERAL (SELECT array_agg(h.account) AS accounts,
          array_agg(h.balance - coalesce(l.amount, 0)) AS balances
        FROM held_at(ARRAY(SELECT id FROM account), o.midnight) h
        LEFT JOIN (SELECT l.account, sum(l.amount) AS amount FROM late(o.midnight) l GROUP BY 1) l
          ON l.account = h.account) h
      CROSS JOIN LATERAL (SELECT coalesce(array_agg(g.code), '{}'), coalesce(array_agg(g.asset), '{}'),
          coalesce(array_agg(g.accounts), '{}'), coalesce(array_agg(g.debits), '{}'),
          coalesce(array_agg(g.credits), '{}')
        FROM (SELECT * FROM by_group(h.accounts, h.balances) b ORDER BY b.code COLLATE "C", b.asset) g) g;
    made := made + 1;
  END LOOP;
  RETURN made;
END $function$;
GRANT EXECUTE ON FUNCTION ledger.end_days(integer) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.ensure_partitions(ahead integer DEFAULT 3)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET "TimeZone" TO 'UTC'
AS $function$
DECLARE
  month timestamptz;
  partition text;
  made integer := 0;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('ledger.ensure_partitions'));
  FOR month IN SELECT generate_series(timestamptz '2026-11-01',
                                      date_trunc('month', now()) + make_interval(months => ahead),
                                      interval '1 month') LOOP
    partition := 'journal_' || to_char(month, 'YYYY_MM');
    CONTINUE WHEN to_regclass('ledger.' || partition) IS NOT NULL;
    EXECUTE format('CREATE TABLE ledger.%I PARTITION OF ledger.journal FOR VALUES FROM (%L) TO (%L)',
      partition, ledger.first_id(month), ledger.first_id(month + interval '1 month'));
    EXECUTE format('CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON ledger.%I
      FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change()', partition);
    EXECUTE format('GRANT SELECT ON ledger.%I TO hub_app', partition);
    made := made + 1;
  END LOOP;
  RETURN made;
END $function$;
GRANT EXECUTE ON FUNCTION ledger.ensure_partitions(integer) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.entries_of(p_owners bigint[], p_ids uuid[])
 RETURNS SETOF ledger.journal
 LANGUAGE sql
 STABLE ROWS 10
AS $function$
  SELECT j.* FROM unnest(p_owners, p_ids) w(owner, id)
  JOIN ledger.journal j ON j.owner = w.owner AND j.id = w.id $function$;
GRANT EXECUTE ON FUNCTION ledger.entries_of(bigint[],uuid[]) TO PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.entries_of(bigint[],uuid[]) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.entry_at(p_shard smallint, p_seq bigint)
 RETURNS SETOF ledger.journal
 LANGUAGE sql
 STABLE ROWS 1
AS $function$
  SELECT * FROM ledger.journal j WHERE j.shard = p_shard AND j.seq = p_seq LIMIT 1 $function$;
GRANT EXECUTE ON FUNCTION ledger.entry_at(smallint,bigint) TO PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.entry_at(smallint,bigint) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.entry_of(p_shard smallint, p_owner bigint, p_id uuid, p_phase smallint)
 RETURNS SETOF ledger.journal
 LANGUAGE sql
 STABLE ROWS 1
AS $function$
  SELECT * FROM ledger.journal j
  WHERE j.shard = p_shard AND j.owner = p_owner AND j.id = p_id AND j.phase = p_phase LIMIT 1 $function$;
GRANT EXECUTE ON FUNCTION ledger.entry_of(smallint,bigint,uuid,smallint) TO PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.entry_of(smallint,bigint,uuid,smallint) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.explain(k smallint[], owner bigint[], id uuid[], amount bigint[], asset smallint[], payee bigint[], bps smallint[], endpoint integer[], price_version integer[], guard_n integer[], guard bigint[], base bigint, instant timestamp with time zone, first uuid, final uuid)
 RETURNS smallint[]
 LANGUAGE sql
 STABLE
 SET search_path TO 'ledger', 'pg_temp'
AS $function$
  SELECT array_agg(CASE
      WHEN r.seq > base THEN 1
      WHEN r.phase = 1 THEN CASE WHEN (r.amount, r.asset, r.payee, r.bps, r.endpoint, r.price_version)
          = (o.amount, o.asset, o.payee, o.bps, o.endpoint, o.price_version)
        AND r.guards IS NOT DISTINCT FROM guards_of(o.n::integer, guard_n, guard) THEN 2 ELSE 5 END
      WHEN r.phase = 2 THEN CASE WHEN r.kind = o.k AND (o.k > 2 OR r.amount = o.amount)
        THEN 2 ELSE 5 END
      WHEN o.k = 1 THEN 0
      WHEN h.amount IS NULL OR o.k = 4 AND h.expires_at > instant THEN 3
      ELSE 4 END::smallint ORDER BY o.n)
  FROM unnest(k, owner, id, amount, asset, payee, bps, endpoint, price_version)
    WITH ORDINALITY o(k, owner, id, amount, asset, payee, bps, endpoint, price_version, n)
  LEFT JOIN journal r ON r.owner = o.owner AND r.id = o.id AND r.phase = least(o.k, 2)
    AND r.id BETWEEN first AND final
  LEFT JOIN journal h ON r.seq IS NULL AND o.k > 1 AND h.owner = o.owner AND h.id = o.id AND h.phase = 1
    AND h.id BETWEEN first AND final $function$;

CREATE OR REPLACE FUNCTION ledger.extend_tree(p_shard smallint, p_from bigint, p_to bigint, p_levels smallint[], p_indexes bigint[], p_hashes bytea[])
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'ledger', 'pg_temp'
AS $function$
DECLARE
  stored bigint;
  posted bigint;
BEGIN
  INSERT INTO tree (shard) VALUES (p_shard) ON CONFLICT (shard) DO NOTHING;
  SELECT t.size INTO stored FROM tree t WHERE t.shard = p_shard FOR UPDATE;
  IF stored <> p_from THEN RETURN false; END IF;
  IF p_shard = -1 THEN
    SELECT max(s.index) + 1 INTO posted FROM signed_head s;
  ELSE
    SELECT h.seq INTO posted FROM head h WHERE h.shard = p_shard;
  END IF;
  IF p_to <= p_from OR p_to > posted IS NOT FALSE THEN
    RAISE EXCEPTION 'shard % has no entries % to %', p_shard, p_from + 1, p_to
      USING ERRCODE = 'check_violation';
  END IF;
  INSERT INTO tile (shard, level, index, hashes)
    SELECT p_shard, u.level, u.index, u.hashes
    FROM unnest(p_levels, p_indexes, p_hashes) u(level, index, hashes)
    ON CONFLICT (shard, level, index) DO UPDATE SET hashes = excluded.hashes;
  IF EXISTS (SELECT 1 FROM generate_series(0, 5) l(level)
      CROSS JOIN LATERAL generate_series(p_from >> 8 * l.level >> 8,
        ((p_to >> 8 * l.level) - 1) >> 8) i(index)
      WHERE (SELECT octet_length(t.hashes) FROM tile t
          WHERE t.shard = p_shard AND t.level = l.level AND t.index = i.index) IS DISTINCT FROM
        32 * least(256, (p_to >> 8 * l.level) - 256 * i.index)) THEN
    RAISE EXCEPTION 'the tiles of shard % are not those of a tree of % entries', p_shard, p_to
      USING ERRCODE = 'check_violation';
  END IF;
  UPDATE tree SET size = p_to WHERE shard = p_shard;
  RETURN true;
END $function$;
GRANT EXECUTE ON FUNCTION ledger.extend_tree(smallint,bigint,bigint,smallint[],bigint[],bytea[]) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.first_id(instant timestamp with time zone)
 RETURNS uuid
 LANGUAGE sql
 IMMUTABLE
RETURN (rpad(lpad(to_hex(((EXTRACT(epoch FROM instant) * (1000)::numeric))::bigint), 12, '0'::text), 32, '0'::text))::uuid;
GRANT EXECUTE ON FUNCTION ledger.first_id(timestamp with time zone) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.groups_at(p_at timestamp with time zone, p_prefix text DEFAULT ''::text)
 RETURNS TABLE(code text, asset smallint, accounts bigint, debits numeric, credits numeric)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'ledger', 'pg_temp'
 SET jit TO 'off'
AS $function$
#variable_conflict use_column
DECLARE
  kept day_end;
  touched bigint[]; -- accounts that were booked late, with what they held …
  held numeric[];
  before numeric[]; -- … and without
BEGIN
  IF p_prefix = '' THEN
    SELECT * INTO kept FROM day_end e
      WHERE e.day = (p_at AT TIME ZONE 'UTC')::date - 1 AND (e.day + 1)::timestamp AT TIME ZONE 'UTC' = p_at
        AND e.seqs = ARRAY(SELECT c.seq FROM cut(p_at) c ORDER BY c.shard);
  END IF;
  IF kept.day IS NULL THEN
    RETURN QUERY SELECT g.* FROM (SELECT array_agg(h.account) AS accounts, array_agg(h.balance) AS balances
        FROM held_at(ARRAY(SELECT a.id FROM account a WHERE starts_with(a.code, p_prefix)), p_at) h) h
      CROSS JOIN LATERAL by_group(h.accounts, h.balances) g;
    RETURN;
  END IF;
  WITH moved AS MATERIALIZED (
    SELECT l.account, sum(l.amount) AS amount FROM late(p_at) l GROUP BY 1
  )
  SELECT array_agg(h.account), array_agg(h.balance), array_agg(h.balance - m.amount)
    INTO touched, held, before
    FROM held_at(ARRAY(SELECT account FROM moved), p_at) h JOIN moved m ON m.account = h.account;
  RETURN QUERY
  SELECT l.code, l.asset, sum(l.accounts)::bigint, sum(l.debits), sum(l.credits) FROM (
    SELECT * FROM unnest(kept.codes, kept.assets, kept.accounts, kept.debits, kept.credits)
    UNION ALL SELECT * FROM by_group(touched, held)
    UNION ALL SELECT b.code, b.asset, -b.accounts, -b.debits, -b.credits FROM by_group(touched, before) b
  ) l(code, asset, accounts, debits, credits) GROUP BY 1, 2 HAVING sum(l.accounts) > 0;
END $function$;
GRANT EXECUTE ON FUNCTION ledger.groups_at(timestamp with time zone,text) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.guards_of(n integer, guard_n integer[], guard bigint[])
 RETURNS bigint[]
 LANGUAGE sql
 IMMUTABLE
RETURN NULLIF((guard)[(width_bucket((n - 1), guard_n) + 1):width_bucket(n, guard_n)], '{}'::bigint[]);

CREATE OR REPLACE FUNCTION ledger.held_at(p_accounts bigint[], p_at timestamp with time zone)
 RETURNS TABLE(account bigint, balance numeric)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'ledger', 'pg_temp'
 SET jit TO 'off'
AS $function$
#variable_conflict use_column
BEGIN
  IF EXISTS (SELECT FROM cut(p_at) c JOIN head h ON h.shard = c.shard WHERE c.seq < h.seq) THEN
    RETURN QUERY SELECT t.account, t.credits - t.debits FROM totals_at(p_accounts, p_at) t;
  ELSE -- nothing was booked since
    RETURN QUERY SELECT w.id, coalesce(sum(b.balance), 0)
      FROM unnest(p_accounts) w(id) LEFT JOIN balance b ON b.account = w.id GROUP BY w.id;
  END IF;
END $function$;
GRANT EXECUTE ON FUNCTION ledger.held_at(bigint[],timestamp with time zone) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.hold_still(p_shards smallint[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'ledger', 'pg_temp'
AS $function$
DECLARE
  place smallint;
BEGIN
  FOR place IN SELECT DISTINCT s FROM unnest(p_shards) s ORDER BY s LOOP
    PERFORM 1 FROM head WHERE shard = place FOR UPDATE;
  END LOOP;
END $function$;
GRANT EXECUTE ON FUNCTION ledger.hold_still(smallint[]) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.holds_account(asset smallint)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE
RETURN (CASE asset WHEN 1 THEN 2 WHEN 3 THEN 30 WHEN 4 THEN 40 ELSE NULL::integer END)::bigint;
GRANT EXECUTE ON FUNCTION ledger.holds_account(smallint) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.ids_between(p_shard smallint, p_from bigint, p_to bigint)
 RETURNS TABLE(id_first uuid, id_last uuid)
 LANGUAGE sql
 STABLE
AS $function$
  SELECT CASE WHEN l.seq_to IS NULL THEN '00000000-0000-0000-0000-000000000000' ELSE c.firsts[1] END,
    CASE WHEN l.seq_to IS NULL THEN 'ffffffff-ffff-ffff-ffff-ffffffffffff' ELSE c.lasts[1] END
  FROM (SELECT (SELECT c.seq_to FROM ledger.chunk c WHERE c.shard = p_shard AND c.seq_to >= p_to
      ORDER BY c.seq_to LIMIT 1) OFFSET 0) l(seq_to)
  CROSS JOIN LATERAL (SELECT array_agg(c.id_first ORDER BY c.id_first) AS firsts,
      array_agg(c.id_last ORDER BY c.id_last DESC) AS lasts
    FROM ledger.chunk c WHERE c.shard = p_shard AND c.seq_to BETWEEN p_from AND l.seq_to) c $function$;
GRANT EXECUTE ON FUNCTION ledger.ids_between(smallint,bigint,bigint) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.is_balanced(accounts bigint[], amounts bigint[])
 RETURNS boolean
 LANGUAGE plpgsql
 IMMUTABLE
AS $function$
BEGIN
  RETURN coalesce(accounts = '{}' AND amounts = '{}' OR cardinality(accounts) BETWEEN 2 AND 8
    AND cardinality(accounts) = cardinality(amounts)
    AND array_dims(accounts) = format('[1:%s]', cardinality(accounts))
    AND array_dims(amounts) = array_dims(accounts)
    AND array_position(accounts, NULL) IS NULL AND array_position(amounts, NULL) IS NULL
    AND (SELECT sum(amount) = 0 FROM unnest(amounts) u(amount)), false);
END $function$;

CREATE OR REPLACE FUNCTION ledger.journal_balances_hash(p_shard smallint, p_upto bigint)
 RETURNS bytea
 LANGUAGE sql
 STABLE
AS $function$
  SELECT sha256(convert_to(coalesce(string_agg(
    concat(v.account, ' ', a.code, ' ', s.code, ' ', v.balance, E'\n'), '' ORDER BY v.account), ''), 'UTF8'))
  FROM (SELECT l.account, sum(l.amount) AS balance
    FROM ledger.journal j CROSS JOIN LATERAL ledger.legs(ROW(j.*)::ledger.journal) l
    WHERE j.shard = p_shard AND j.seq <= p_upto GROUP BY l.account) v
  LEFT JOIN ledger.account a ON a.id = v.account LEFT JOIN ledger.asset s ON s.id = a.asset $function$;
GRANT EXECUTE ON FUNCTION ledger.journal_balances_hash(smallint,bigint) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.late_at(p_late ledger.late_entry[], p_at timestamp with time zone, p_shard smallint DEFAULT '-1'::integer, p_seq bigint DEFAULT 0)
 RETURNS SETOF ledger.late_entry
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT l.* FROM unnest(p_late) l WHERE (l.value_at, l.shard, l.seq) <= (p_at, p_shard, p_seq)
    AND (l.booked_at, l.shard, l.seq) > (p_at, p_shard, p_seq) $function$;
GRANT EXECUTE ON FUNCTION ledger.late_at(ledger.late_entry[],timestamp with time zone,smallint,bigint) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.late_entries(p_account bigint, VARIADIC p_at timestamp with time zone[])
 RETURNS SETOF ledger.late_entry
 LANGUAGE plpgsql
 STABLE
AS $function$
BEGIN
  RETURN QUERY SELECT j.shard, j.seq, j.at, j.effective_at, sum(u.amount)::bigint
    FROM ledger.journal j CROSS JOIN LATERAL unnest(j.accounts, j.amounts) u(account, amount)
    WHERE p_account = ANY (j.accounts) AND u.account = p_account AND j.effective_at IS NOT NULL
      AND tstzrange(j.effective_at, j.at, '[]')
        && (SELECT range_agg(tstzrange(t, t, '[]')) FROM unnest(p_at) t)
    GROUP BY 1, 2, 3, 4 HAVING sum(u.amount) <> 0;
END $function$;
GRANT EXECUTE ON FUNCTION ledger.late_entries(bigint,timestamp with time zone[]) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.late(p_at timestamp with time zone, p_shard smallint DEFAULT '-1'::integer, p_seq bigint DEFAULT 0, p_account bigint DEFAULT NULL::bigint)
 RETURNS TABLE(shard smallint, seq bigint, booked_at timestamp with time zone, value_at timestamp with time zone, account bigint, amount bigint)
 LANGUAGE sql
 STABLE
AS $function$
  SELECT j.shard, j.seq, j.at, j.effective_at, u.account, sum(u.amount)::bigint
  FROM ledger.journal j
  JOIN ledger.cut(p_at, p_shard, p_seq) c ON c.shard = j.shard AND j.seq > c.seq
  CROSS JOIN LATERAL unnest(j.accounts, j.amounts) u(account, amount)
  WHERE (p_account IS NULL OR p_account = ANY (j.accounts) AND u.account = p_account)
    AND j.effective_at IS NOT NULL AND tstzrange(j.effective_at, j.at, '[]') @> p_at
    AND (j.effective_at, j.shard, j.seq) <= (p_at, p_shard, p_seq)
  GROUP BY 1, 2, 3, 4, 5 HAVING sum(u.amount) <> 0 $function$;
GRANT EXECUTE ON FUNCTION ledger.late(timestamp with time zone,smallint,bigint,bigint) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.leaf(j ledger.journal)
 RETURNS bytea
 LANGUAGE sql
 STABLE
RETURN sha256(record_send(ROW((j).id, (j).owner, (j).seq, (j).at, (j).amount, (j).rest, (j).fee, (j).payee, (j).expires_at, (j).endpoint, (j).price_version, (j).bps, (j).asset, (j).shard, (j).kind, (j).phase, (j).guards, (j).accounts, (j).amounts, (j).effective_at, (j).meta)));
GRANT EXECUTE ON FUNCTION ledger.leaf(ledger.journal) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.legs(j ledger.journal)
 RETURNS TABLE(n bigint, account bigint, amount bigint)
 LANGUAGE sql
 STABLE
AS $function$
  SELECT u.n, u.account, u.amount
  FROM unnest(
    coalesce(j.accounts,
      ARRAY[j.owner, ledger.holds_account(j.asset), j.payee, 1]
        || CASE WHEN j.guards IS NOT NULL THEN j.guards || ARRAY[40, 42]::bigint[] END),
    coalesce(j.amounts, CASE j.phase
      WHEN 1 THEN ARRAY[-j.amount, j.amount, 0, 0]
        || CASE WHEN j.guards IS NOT NULL
          THEN array_fill(-j.amount, ARRAY[cardinality(j.guards)])
            || ARRAY[j.amount * cardinality(j.guards), 0] END
      ELSE ARRAY[j.rest, -j.amount - j.rest, j.amount - j.fee, j.fee]
        || CASE WHEN j.guards IS NOT NULL
          THEN array_fill(j.rest, ARRAY[cardinality(j.guards)])
            || ARRAY[(-j.amount - j.rest) * cardinality(j.guards),
              j.amount * cardinality(j.guards)] END
      END)) WITH ORDINALITY u(account, amount, n)
  WHERE u.amount <> 0 $function$;
GRANT EXECUTE ON FUNCTION ledger.legs(ledger.journal) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.movements(p_shard smallint, p_after bigint, p_upto bigint, p_account bigint DEFAULT NULL::bigint)
 RETURNS TABLE(seq bigint, account bigint, amount bigint)
 LANGUAGE sql
 STABLE
AS $function$
  WITH step AS (
    SELECT j.seq, j.owner, j.payee, ledger.holds_account(j.asset) AS holds, j.guards, j.accounts, j.amounts,
      j.fee, CASE j.phase WHEN 2 THEN j.amount - j.fee ELSE 0 END AS share,
      CASE j.phase WHEN 1 THEN -j.amount ELSE j.rest END AS back,
      CASE j.phase WHEN 1 THEN 0 ELSE j.amount END AS used
    FROM ledger.journal j WHERE j.shard = p_shard AND j.seq > p_after AND j.seq <= p_upto
  ), entry AS MATERIALIZED (
    SELECT s.*, num_nonnulls(s.guards, s.accounts) = 0 AND s.owner <> s.holds
      AND (s.share = 0 OR s.payee NOT IN (s.owner, s.holds))
      AND (s.fee = 0 OR 1 NOT IN (s.owner, s.holds, s.payee)) AS is_plain
    FROM step s
  ), movement AS (
    SELECT e.seq, e.owner AS account, e.back AS amount FROM entry e WHERE e.is_plain
    UNION ALL
    SELECT e.seq, e.holds, -e.back - e.used FROM entry e WHERE e.is_plain
    UNION ALL
    SELECT e.seq, e.payee, e.share FROM entry e WHERE e.is_plain
    UNION ALL
    SELECT e.seq, 1, e.fee FROM entry e WHERE e.is_plain
    UNION ALL
    SELECT e.seq, u.account, sum(u.amount)::bigint FROM entry e
      CROSS JOIN LATERAL (VALUES (cardinality(e.guards))) c(guards)
      CROSS JOIN LATERAL unnest(
        CASE WHEN e.accounts IS NULL THEN ARRAY[e.owner, e.holds, e.payee, 1]
          || (e.guards || ARRAY[40, 42]::bigint[]) ELSE e.accounts END,
        CASE WHEN e.accounts IS NULL THEN ARRAY[e.back, -e.back - e.used, e.share, e.fee]
          || CASE WHEN c.guards > 0 THEN array_fill(e.back, ARRAY[c.guards])
            || ARRAY[(-e.back - e.used) * c.guards, e.used * c.guards] END
          ELSE e.amounts END) u(account, amount)
      WHERE NOT e.is_plain GROUP BY e.seq, u.account
  )
  SELECT m.seq, m.account, m.amount FROM movement m
  WHERE m.amount <> 0 AND (p_account IS NULL OR m.account = p_account) $function$;
GRANT EXECUTE ON FUNCTION ledger.movements(smallint,bigint,bigint,bigint) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.next_entries(p_account bigint, p_shard smallint, p_after bigint, p_upto bigint, p_limit integer)
 RETURNS TABLE(seq bigint, amount bigint)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'ledger', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET jit TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_sort TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
#variable_conflict use_column
DECLARE
  done bigint;
  upto_chunk bigint;
  found integer;
BEGIN
  SELECT max(c.seq_to) INTO done FROM chunk c WHERE c.shard = p_shard;
  SELECT c.seq_to INTO upto_chunk FROM chunk c WHERE c.shard = p_shard AND c.seq_to >= p_upto
    ORDER BY c.seq_to LIMIT 1;
  RETURN QUERY SELECT q.seq, q.amount FROM (
    SELECT s.seq_to + unnest(s.entries[s.first:s.first + p_limit - 1]) AS seq,
      unnest(s.amounts[s.first:s.first + p_limit - 1]) AS amount
    FROM (SELECT k.seq_to, k.entries, k.amounts,
        width_bucket(greatest(p_after - k.seq_to, -32768)::smallint, k.entries) + 1 AS first
      FROM snapshot k WHERE k.account = p_account AND k.shard = p_shard
        AND k.seq_to > p_after AND k.seq_to <= coalesce(upto_chunk, done) ORDER BY k.seq_to) s) q
  WHERE q.seq <= p_upto LIMIT p_limit;
  GET DIAGNOSTICS found = ROW_COUNT;
  done := greatest(p_after, done);
  IF found = p_limit OR done >= p_upto THEN RETURN; END IF;
  RETURN QUERY SELECT m.seq, m.amount FROM movements(p_shard, done, p_upto, p_account) m
    ORDER BY m.seq LIMIT p_limit - found;
END $function$;
GRANT EXECUTE ON FUNCTION ledger.next_entries(bigint,smallint,bigint,bigint,integer) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.open_account(p_code text, p_asset smallint, p_home smallint DEFAULT NULL::smallint)
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'ledger', 'pg_temp'
AS $function$
DECLARE
  opened bigint;
BEGIN
  SELECT id INTO opened FROM account WHERE code = p_code;
  IF FOUND THEN RETURN opened; END IF;
  INSERT INTO account (code, asset, home) VALUES (p_code, p_asset, p_home)
    ON CONFLICT (code) DO NOTHING RETURNING id INTO opened;
  IF opened IS NULL THEN -- somebody else opened it meanwhile
    SELECT id INTO STRICT opened FROM account WHERE code = p_code;
    RETURN opened;
  END IF;
  INSERT INTO balance (account, shard, asset, floor)
    SELECT opened, shard, p_asset, CASE WHEN p_code LIKE 'liabilities:%' THEN 0 END
    FROM head WHERE p_home IS NULL OR shard = p_home;
  RETURN opened;
END $function$;
GRANT EXECUTE ON FUNCTION ledger.open_account(text,smallint,smallint) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.open_shard(p_shard smallint)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'ledger', 'pg_temp'
AS $function$
DECLARE
  since timestamptz := open_since();
BEGIN
  INSERT INTO head (shard, open_since) VALUES (p_shard, since) ON CONFLICT DO NOTHING;
  INSERT INTO balance (account, shard, asset, floor)
    SELECT id, p_shard, asset, CASE class WHEN 'liabilities' THEN 0 END FROM account WHERE home IS NULL
    ON CONFLICT DO NOTHING;
END $function$;
GRANT EXECUTE ON FUNCTION ledger.open_shard(smallint) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.open_since()
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 STABLE
AS $function$
BEGIN
  RETURN coalesce((SELECT max(h.open_since) FROM ledger.head h), '-infinity');
END $function$;
GRANT EXECUTE ON FUNCTION ledger.open_since() TO hub_app;

CREATE OR REPLACE FUNCTION ledger.overdraws_asset(p_kind ledger.kind, p_accounts bigint[], p_amounts bigint[])
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'ledger', 'pg_temp'
AS $function$
DECLARE
  leg record;
  place smallint;
BEGIN
  IF p_kind.event IN ('receipt.confirmed', 'receipt.vanished', 'external.confirmed', 'external.lost',
      'payout.confirmed', 'gas.paid', 'wallet.moved') THEN
    RETURN false;
  END IF;
  FOR leg IN SELECT u.account, sum(u.amount) AS credit FROM unnest(p_accounts, p_amounts) u(account, amount)
      JOIN account a ON a.id = u.account AND a.class = 'assets'
      GROUP BY u.account HAVING sum(u.amount) > 0 ORDER BY u.account LOOP
    FOR place IN SELECT h.shard FROM head h ORDER BY h.shard LOOP
      PERFORM 1 FROM balance b WHERE b.account = leg.account AND b.shard = place FOR UPDATE;
    END LOOP;
    IF leg.credit + (SELECT sum(b.balance) FROM balance b WHERE b.account = leg.account) > 0 THEN
      RETURN true;
    END IF;
  END LOOP;
  RETURN false;
END $function$;

CREATE OR REPLACE FUNCTION ledger.owed_refunds(p_account bigint, p_shard smallint, p_after bigint, p_before bigint)
 RETURNS TABLE(seq bigint, amount bigint)
 LANGUAGE sql
 STABLE ROWS 10
AS $function$
  SELECT r.seq, 0::bigint FROM ledger.journal r
  WHERE r.shard = p_shard AND r.seq > p_after AND r.seq < p_before
    AND r.kind IN (29, 43) AND 9 = ANY (r.accounts) AND NOT p_account = ANY (r.accounts)
    AND (r.kind = 43 AND r.owner = p_account OR EXISTS (SELECT 1 FROM ledger.journal s
      WHERE s.shard = p_shard AND s.owner = r.owner AND s.id = r.id AND s.phase = 2
        AND s.payee = p_account)) $function$;
GRANT EXECUTE ON FUNCTION ledger.owed_refunds(bigint,smallint,bigint,bigint) TO PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.owed_refunds(bigint,smallint,bigint,bigint) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.owners_of(p_id uuid)
 RETURNS TABLE(owner bigint, shard smallint, seq bigint)
 LANGUAGE sql
 STABLE
 SET search_path TO 'ledger', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
  SELECT j.owner, j.shard, j.seq FROM chunk c
    JOIN journal j ON j.shard = c.shard AND j.seq BETWEEN c.seq_from AND c.seq_to AND j.id = p_id
    WHERE p_id BETWEEN c.id_first AND c.id_last
  UNION ALL
  SELECT j.owner, j.shard, j.seq FROM head h
    JOIN journal j ON j.shard = h.shard AND j.id = p_id AND j.seq > coalesce((SELECT max(c.seq_to)
      FROM chunk c WHERE c.shard = h.shard), 0) $function$;
GRANT EXECUTE ON FUNCTION ledger.owners_of(uuid) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.post_batch(p_shard smallint, p_entries jsonb)
 RETURNS smallint[]
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'ledger', 'pg_temp'
AS $function$
DECLARE
  outcomes smallint[] := '{}';
  entry record;
BEGIN
  FOR entry IN
    SELECT e.* FROM ROWS FROM (jsonb_to_recordset(p_entries) AS (owner bigint, id uuid, event text,
      accounts bigint[], amounts bigint[], effective_at timestamptz, meta jsonb)) WITH ORDINALITY e
    ORDER BY e.ordinality
  LOOP
    outcomes := outcomes || post(p_shard, entry.owner, entry.id, entry.event, entry.accounts,
      entry.amounts, entry.effective_at, entry.meta);
  END LOOP;
  RETURN outcomes;
END $function$;
GRANT EXECUTE ON FUNCTION ledger.post_batch(smallint,jsonb) TO hub_finance;

CREATE OR REPLACE FUNCTION ledger.post_closing(p_month date, p_meta jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'ledger', 'pg_temp'
AS $function$
DECLARE
  over timestamptz := (p_month + interval '1 month') AT TIME ZONE 'UTC';
  instant timestamptz;
  place head;
  entry journal;
BEGIN
  SELECT greatest(clock_timestamp(), over, max(h.at) + interval '1 microsecond') INTO instant FROM head h;
  SELECT * INTO STRICT place FROM head h WHERE h.shard = 0;
  SELECT first_id(over), 60, place.seq + 1, instant, 0, 0, 0, 0, NULL, 0, 0, 0, 1, 0, k.id, 0, NULL,
      '{}', '{}', NULL, p_meta || jsonb_build_object('month', to_char(p_month, 'YYYY-MM')), NULL
    INTO entry FROM kind k WHERE k.event = 'period.closed';
  entry.leaf := leaf(entry);
  INSERT INTO journal SELECT entry.*;
  PERFORM seal_batch(0::smallint, place.seq, 1, place.hash, instant, entry.id, entry.id);
  UPDATE head SET at = instant, open_since = over; -- no later entry is before it, even by a clock set back
END $function$;

CREATE OR REPLACE FUNCTION ledger.post(p_shard smallint, p_owner bigint, p_id uuid, p_event text, p_accounts bigint[], p_amounts bigint[], p_effective_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_meta jsonb DEFAULT NULL::jsonb)
 RETURNS smallint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'ledger', 'pg_temp'
AS $function$
DECLARE
  base bigint;
  link bytea;
  instant timestamptz;
  known journal;
  refused smallint;
  entry journal;
  posted kind;
  updated integer;
BEGIN
  SELECT h.seq, h.hash, greatest(clock_timestamp(), h.at) INTO STRICT base, link, instant
    FROM head h WHERE h.shard = p_shard FOR UPDATE;
  SELECT * INTO posted FROM kind k WHERE k.event = p_event AND k.phase IN (0, 3);
  IF NOT FOUND THEN
    RAISE EXCEPTION 'no such event: %', p_event USING ERRCODE = 'check_violation';
  END IF;
  SELECT * INTO known FROM journal
    WHERE shard = p_shard AND owner = p_owner AND id = p_id AND phase = posted.phase;
  IF FOUND THEN
    RETURN CASE WHEN known.kind = posted.id AND known.accounts = p_accounts
      AND known.amounts = p_amounts THEN 2 ELSE 5 END;
  END IF;
  PERFORM check_entry(posted, p_accounts, p_amounts, p_meta);
  PERFORM check_vanished(posted, p_shard, p_id, p_accounts, p_amounts);
  IF p_effective_at < open_since() THEN
    RAISE EXCEPTION 'the books of % are closed', to_char(p_effective_at AT TIME ZONE 'UTC', 'YYYY-MM')
      USING ERRCODE = 'AH001';
  END IF;
  IF posted.phase = 3 THEN
    refused := reversal_fault(p_shard, p_owner, p_id, p_accounts, p_amounts);
    IF refused IS NOT NULL THEN RETURN refused; END IF;
  END IF;
  IF overdraws_asset(posted, p_accounts, p_amounts) THEN RETURN 0; END IF;
  IF EXISTS (SELECT 1 FROM (SELECT u.account, sum(u.amount) AS delta
        FROM unnest(p_accounts, p_amounts) u(account, amount) GROUP BY u.account) d
      JOIN balance b ON b.account = d.account AND b.shard = p_shard
      WHERE b.balance + d.delta < b.floor) THEN
    RETURN 0;
  END IF;
  -- Clocks of the outside may be a little ahead of ours: then its value date is when it is booked.
  SELECT p_id, p_owner, base + 1, instant, 0, 0, 0, 0, NULL, 0, 0, 0, a.asset, p_shard, posted.id,
      posted.phase, NULL, p_accounts, p_amounts,
      CASE WHEN p_effective_at < instant THEN p_effective_at END, p_meta, NULL
    INTO entry FROM account a WHERE a.id = p_accounts[1];
  entry.leaf := leaf(entry);
  INSERT INTO journal SELECT entry.*;
  UPDATE balance b SET balance = b.balance + d.delta
    FROM (SELECT u.account, sum(u.amount)::bigint AS delta
      FROM unnest(p_accounts, p_amounts) u(account, amount) GROUP BY u.account) d
    WHERE b.account = d.account AND b.shard = p_shard;
  GET DIAGNOSTICS updated = ROW_COUNT;
  IF updated <> (SELECT count(DISTINCT a) FROM unnest(p_accounts) a) THEN
    RAISE EXCEPTION 'an account has no balance on shard %: %', p_shard, p_accounts
      USING ERRCODE = 'foreign_key_violation';
  END IF;
  PERFORM seal_batch(p_shard, base, 1, link, instant, p_id, p_id);
  RETURN 1;
END $function$;
GRANT EXECUTE ON FUNCTION ledger.post(smallint,bigint,uuid,text,bigint[],bigint[],timestamp with time zone,jsonb) TO hub_finance;

CREATE OR REPLACE FUNCTION ledger.protect(p_table regclass)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
  EXECUTE format('CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON %s
    FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change()', p_table);
  EXECUTE format('CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON %s
    FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change()', p_table);
END $function$;

CREATE OR REPLACE FUNCTION ledger.record_full_verification(p_failures text[])
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'ledger', 'pg_temp'
AS $function$
  INSERT INTO verification AS v (at, failures, full_at, full_sound_at, full_failures)
    VALUES (clock_timestamp(), '{}', clock_timestamp(),
      CASE WHEN p_failures = '{}' THEN clock_timestamp() END, p_failures)
    ON CONFLICT (single) DO UPDATE SET full_at = excluded.full_at,
      full_failures = excluded.full_failures,
      full_sound_at = coalesce(excluded.full_sound_at, v.full_sound_at) $function$;
GRANT EXECUTE ON FUNCTION ledger.record_full_verification(text[]) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.record_verification(p_failures text[])
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'ledger', 'pg_temp'
AS $function$
  INSERT INTO verification AS v (at, sound_at, failures)
    VALUES (clock_timestamp(), CASE WHEN p_failures = '{}' THEN clock_timestamp() END, p_failures)
    ON CONFLICT (single) DO UPDATE SET at = excluded.at, failures = excluded.failures,
      sound_at = coalesce(excluded.sound_at, v.sound_at) $function$;
GRANT EXECUTE ON FUNCTION ledger.record_verification(text[]) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.refuse_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  RAISE EXCEPTION 'the ledger is append-only: % on % refused', TG_OP, TG_TABLE_NAME
    USING ERRCODE = 'restrict_violation', HINT = 'Correct an entry by posting another one.';
END $function$;

CREATE OR REPLACE FUNCTION ledger.refuse(p_shard smallint, k smallint[], owner bigint[], id uuid[], amount bigint[], asset smallint[], payee bigint[], guard_n integer[], guard bigint[], instant timestamp with time zone, first uuid, final uuid, short bigint[], skipped boolean[])
 RETURNS boolean[]
 LANGUAGE plpgsql
 SET search_path TO 'ledger', 'pg_temp'
AS $function$
#variable_conflict use_column
DECLARE
  refused boolean[] := coalesce(skipped, array_fill(false, ARRAY[cardinality(k)]));
  account bigint[]; -- those that are short, ascending
  counts smallint[]; -- the asset of each
  available bigint[];
  op record;
  party bigint;
  place integer;
  back bigint;
BEGIN
  SELECT o.payee INTO party FROM unnest(k, payee, asset) o(k, payee, asset)
    LEFT JOIN balance b ON b.account = o.payee AND b.shard = p_shard
    WHERE o.k = 1 AND o.payee = ANY (short) AND o.asset IS DISTINCT FROM b.asset LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'account % cannot be paid: not on shard %, or of another asset', party, p_shard
      USING ERRCODE = 'foreign_key_violation';
  END IF;
  SELECT array_agg(s.account ORDER BY s.account), array_agg(b.asset ORDER BY s.account),
      array_agg(b.balance - coalesce(b.floor, -4611686018427387904) ORDER BY s.account)
    INTO account, counts, available
    FROM (SELECT DISTINCT unnest(short)) s(account)
    LEFT JOIN balance b ON b.account = s.account AND b.shard = p_shard;
  FOR op IN
    SELECT o.n, o.k, o.owner, o.asset, o.amount, h.amount AS held,
      h.payee, o.amount - (o.amount / 10000 * h.bps + o.amount % 10000 * h.bps / 10000) AS share,
      h.expires_at, o.owner || g.guards AS parties
    FROM unnest(k, owner, id, amount, asset) WITH ORDINALITY o(k, owner, id, amount, asset, n)
    LEFT JOIN journal h ON o.k > 1 AND h.owner = o.owner AND h.id = o.id AND h.phase = 1
      AND h.id BETWEEN first AND final
    CROSS JOIN LATERAL (SELECT CASE o.k WHEN 1 THEN guards_of(o.n::integer, guard_n, guard)
      ELSE h.guards END) g(guards)
    WHERE o.owner = ANY (short) OR g.guards && short OR o.k = 2 AND h.payee = ANY (short)
    ORDER BY o.n
  LOOP
    CONTINUE WHEN refused[op.n];
    IF op.k = 1 THEN
      back := -op.amount;
      FOREACH party IN ARRAY op.parties LOOP
        place := width_bucket(party, account);
        CONTINUE WHEN account[place] IS DISTINCT FROM party;
        refused[op.n] := available[place] IS NULL OR available[place] < op.amount
          OR counts[place] <> CASE party WHEN op.owner THEN op.asset ELSE 4 END;
        EXIT WHEN refused[op.n];
      END LOOP;
      CONTINUE WHEN refused[op.n];
    ELSE
      CONTINUE WHEN op.held IS NULL OR op.k = 2 AND op.amount > op.held
        OR op.k = 4 AND op.expires_at > instant;
      back := CASE op.k WHEN 2 THEN op.held - op.amount ELSE op.held END;
      place := width_bucket(op.payee, account);
      IF op.k = 2 AND account[place] = op.payee THEN
        available[place] := available[place] + op.share;
      END IF;
    END IF;
    FOREACH party IN ARRAY op.parties LOOP
      place := width_bucket(party, account);
      IF account[place] = party THEN available[place] := available[place] + back; END IF;
    END LOOP;
  END LOOP;
  RETURN refused;
END $function$;

CREATE OR REPLACE FUNCTION ledger.reversal_fault(p_shard smallint, p_owner bigint, p_id uuid, p_accounts bigint[], p_amounts bigint[])
 RETURNS smallint
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'ledger', 'pg_temp'
AS $function$
DECLARE
  settled journal;
  is_sale boolean;
  paid bigint;
  received bigint; -- account of what is received on the network of the sale and not final yet
BEGIN
  SELECT * INTO settled FROM journal WHERE shard = p_shard AND owner = p_owner AND id = p_id
    AND (phase = 2 AND kind = 2 OR phase = 0 AND kind = 18);
  IF NOT FOUND THEN RETURN 3; END IF;
  is_sale := settled.kind = 18;
  paid := CASE WHEN is_sale THEN (SELECT sum(u) FROM unnest(settled.amounts) u WHERE u > 0)
    ELSE settled.amount END;
  IF (SELECT bool_or(NOT (CASE WHEN is_sale THEN u.account IN (8, 23) ELSE u.account = p_owner END))
      OR sum(u.amount) > paid FROM unnest(p_accounts, p_amounts) u(account, amount) WHERE u.amount > 0) THEN
    RETURN 4;
  END IF;
  SELECT u.account INTO received FROM unnest(settled.accounts, settled.amounts) u(account, amount)
    WHERE u.amount < 0 LIMIT 1;
  IF is_sale AND NOT EXISTS (SELECT 1 FROM journal
      WHERE owner = received AND id = p_id AND phase = 0 AND kind = 17) THEN
    RAISE EXCEPTION 'the payment of the call is not final' USING ERRCODE = 'check_violation';
  END IF;
  IF settled.payee = 6 AND NOT EXISTS (SELECT 1 FROM journal
      WHERE owner = 6 AND id = p_id AND phase = 0 AND kind = 19) THEN
    RAISE EXCEPTION 'the payment to the seller is not final' USING ERRCODE = 'check_violation';
  END IF;
  IF (CASE settled.payee WHEN 6 THEN 9 ELSE 15 END) = ANY (p_accounts) THEN
    RAISE EXCEPTION 'a refund is a loss of the platform if an external seller was paid, and only then'
      USING ERRCODE = 'check_violation';
  END IF;
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION ledger.seal_batch(p_shard smallint, base bigint, size integer, link bytea, instant timestamp with time zone, first uuid, final uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'ledger', 'pg_temp'
AS $function$
DECLARE
  next bytea;
BEGIN
  SELECT sha256(link || string_agg(j.leaf, '' ORDER BY j.seq)) INTO next FROM journal j
    WHERE j.shard = p_shard AND j.seq BETWEEN base + 1 AND base + size
      AND j.id BETWEEN first AND final;
  INSERT INTO seal VALUES (p_shard, base + 1, base + size, instant, link, next);
  UPDATE head SET seq = base + size, hash = next, at = instant WHERE shard = p_shard;
  PERFORM pg_notify('ledger', p_shard::text);
END $function$;

CREATE OR REPLACE FUNCTION ledger.statement(p_account text, p_first timestamp with time zone, p_start timestamp with time zone, p_shard smallint, p_seq bigint, p_end timestamp with time zone, p_limit integer, OUT asset text, OUT opening numeric, OUT closing numeric, OUT balance numeric, OUT debits numeric, OUT credits numeric, OUT lines json)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'ledger', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET jit TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
DECLARE
  -- Its own name: `lines` and the other results are names of columns, too.
  wanted account;
  late late_entry[]; -- at the points of the period
  passed integer; -- entries posted after the start with a value date before it
BEGIN
  SELECT * INTO wanted FROM account a WHERE a.code = p_account;
  IF NOT FOUND THEN RETURN; END IF;
  late := ARRAY(SELECT l FROM late_entries(wanted.id, p_first, p_start, p_end) l);
  SELECT s.code, f.credits - f.debits, e.credits - e.debits, e.debits - f.debits, e.credits - f.credits
    INTO statement.asset, statement.opening, statement.closing, statement.debits, statement.credits
    FROM ledger.asset s CROSS JOIN sums_at(wanted.id, late, p_first) f
    CROSS JOIN sums_at(wanted.id, late, p_end) e WHERE s.id = wanted.asset;
  statement.balance := statement.opening;
  IF p_shard >= 0 THEN -- not the first page
    SELECT t.credits - t.debits INTO statement.balance
      FROM sums_at(wanted.id, late, p_start, p_shard, p_seq) t;
  END IF;
  SELECT count(*) INTO passed FROM late_at(late, p_start, p_shard, p_seq);
  -- The journal is in the order of posting: up to the last entry read from it, only entries that were posted
  -- late are missing, and those are found by value date.
  WITH next AS MATERIALIZED ( -- from each shard as many as the whole page holds
    SELECT c.shard, n.*, count(*) OVER () AS shards FROM cut(p_start, p_shard, p_seq) c
      JOIN cut(p_end) e ON e.shard = c.shard
      CROSS JOIN LATERAL (SELECT array_agg(n.seq) AS seqs, array_agg(n.amount) AS moves
        FROM next_entries(wanted.id, c.shard, c.seq, e.seq, p_limit + passed) n) n
    WHERE c.shard = coalesce(wanted.home, c.shard) AND n.seqs IS NOT NULL
  ), enough AS MATERIALIZED ( -- time at which all shards together have posted as many
    SELECT CASE WHEN count(s.at) = count(*) THEN max(s.at) ELSE p_end END AS at
    FROM next n LEFT JOIN LATERAL (SELECT s.at FROM seal s WHERE s.shard = n.shard
      AND s.seq_to >= n.seqs[(p_limit + passed + n.shards - 1) / n.shards]
      ORDER BY s.seq_to LIMIT 1) s ON true
  ), entry AS MATERIALIZED (
    SELECT r.*, p.moves[array_position(p.seqs, r.seq)] AS moved
    FROM (SELECT t.*, i.* FROM (SELECT n.shard, n.seqs[:width_bucket(u.seq, n.seqs)] AS seqs, n.moves
        FROM enough o CROSS JOIN LATERAL cut(o.at, 32767::smallint) u JOIN next n ON n.shard = u.shard) t
      CROSS JOIN LATERAL ids_between(t.shard, t.seqs[1], t.seqs[cardinality(t.seqs)]) i
      OFFSET 0) p -- first: it leaves partitions out
    JOIN journal r ON r.shard = p.shard AND r.seq = ANY (p.seqs) AND r.id BETWEEN p.id_first AND p.id_last
    ORDER BY r.at, r.shard, r.seq LIMIT p_limit + passed
  ), reach AS MATERIALIZED (
    SELECT coalesce(l.at, p_end) AS at, coalesce(l.shard, -1::smallint) AS shard, coalesce(l.seq, 0) AS seq
    FROM (VALUES (1)) one LEFT JOIN (SELECT e.at, e.shard, e.seq FROM entry e
      ORDER BY e.at, e.shard, e.seq OFFSET p_limit + passed - 1 LIMIT 1) l ON true
  ), page AS MATERIALIZED (
    SELECT l.*, coalesce(l.effective_at, l.at) AS value_at FROM (
      SELECT * FROM entry
      UNION ALL
      SELECT j.*, m.moved FROM reach o JOIN journal j ON j.effective_at IS NOT NULL
          AND tstzrange(j.effective_at, j.at, '[]') @> o.at AND wanted.id = ANY (j.accounts)
          AND (j.effective_at, j.shard, j.seq) <= (o.at, o.shard, o.seq)
          AND (j.at, j.shard, j.seq) > (o.at, o.shard, o.seq)
        CROSS JOIN LATERAL (SELECT sum(u.amount)::bigint AS moved
          FROM unnest(j.accounts, j.amounts) u(account, amount) WHERE u.account = wanted.id) m
        WHERE m.moved <> 0) l
    WHERE (coalesce(l.effective_at, l.at), l.shard, l.seq) > (p_start, p_shard, p_seq)
    ORDER BY coalesce(l.effective_at, l.at), l.shard, l.seq LIMIT p_limit
  ), contra AS (
    SELECT o.shard, o.seq,
      array_agg((SELECT a.code FROM account a WHERE a.id = o.account) ORDER BY o.n) AS codes
    FROM (SELECT g.shard, g.seq, l.account, min(l.n) AS n
      FROM page g CROSS JOIN LATERAL legs(ROW(g.id, g.owner, g.seq, g.at, g.amount, g.rest, g.fee, g.payee,
        g.expires_at, g.endpoint, g.price_version, g.bps, g.asset, g.shard, g.kind, g.phase, g.guards,
        g.accounts, g.amounts, g.effective_at, g.meta, g.leaf)::journal) l
      WHERE l.account <> wanted.id GROUP BY g.shard, g.seq, l.account) o
    GROUP BY o.shard, o.seq
  )
  SELECT coalesce(json_agg(json_build_object('shard', g.shard, 'seq', g.seq::text, 'id', g.id,
      'event', k.event, 'amount', g.moved::text, 'meta', g.meta,
      'bookedAt', to_char(g.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
      'valueAt', to_char(g.value_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
      'contra', coalesce(x.codes, '{}'))
    ORDER BY g.value_at, g.shard, g.seq), '[]')
  INTO statement.lines FROM page g JOIN kind k ON k.id = g.kind
    LEFT JOIN contra x USING (shard, seq);
END $function$;
GRANT EXECUTE ON FUNCTION ledger.statement(text,timestamp with time zone,timestamp with time zone,smallint,bigint,timestamp with time zone,integer) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.sum_up(p_shard smallint, p_from bigint, p_to bigint)
 RETURNS SETOF ledger.snapshot
 LANGUAGE sql
 STABLE
AS $function$
  SELECT c.account, p_shard, p_to, c.debits + coalesce(b.debits, 0), c.credits + coalesce(b.credits, 0),
    c.entries, c.amounts
  FROM (SELECT m.account, -sum(least(m.amount, 0)) AS debits, sum(greatest(m.amount, 0)) AS credits,
      array_agg((m.seq - p_to)::smallint ORDER BY m.seq) AS entries,
      array_agg(m.amount ORDER BY m.seq) AS amounts
    FROM ledger.movements(p_shard, p_from - 1, p_to) m GROUP BY m.account) c
  LEFT JOIN LATERAL (SELECT s.debits, s.credits FROM ledger.snapshot s
    WHERE s.account = c.account AND s.shard = p_shard AND s.seq_to < p_from
    ORDER BY s.seq_to DESC LIMIT 1) b ON true $function$;
GRANT EXECUTE ON FUNCTION ledger.sum_up(smallint,bigint,bigint) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.sums_at(p_account bigint, p_late ledger.late_entry[], p_at timestamp with time zone, p_shard smallint DEFAULT '-1'::integer, p_seq bigint DEFAULT 0, OUT debits numeric, OUT credits numeric)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
AS $function$
BEGIN
  SELECT coalesce(sum(t.debits), 0), coalesce(sum(t.credits), 0) INTO sums_at.debits, sums_at.credits FROM (
    SELECT b.debits, b.credits FROM ledger.booked_at(ARRAY[p_account], p_at, p_shard, p_seq) b
    UNION ALL
    SELECT greatest(-l.amount, 0), greatest(l.amount, 0)
      FROM ledger.late_at(p_late, p_at, p_shard, p_seq) l) t;
END $function$;
GRANT EXECUTE ON FUNCTION ledger.sums_at(bigint,ledger.late_entry[],timestamp with time zone,smallint,bigint) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.take_snapshots(p_shard smallint, p_limit integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'ledger', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET enable_hashagg TO 'off'
 SET jit TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
DECLARE
  size integer := chunk_size();
  done bigint;
  last bigint;
  made integer := 0;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('ledger.take_snapshots'), p_shard);
  SELECT coalesce(max(c.seq_to), 0) INTO done FROM chunk c WHERE c.shard = p_shard;
  SELECT h.seq INTO last FROM head h WHERE h.shard = p_shard;
  WHILE made < p_limit AND done + size <= last LOOP
    INSERT INTO chunk SELECT p_shard, done + 1, done + size, i.id_first, i.id_last
      FROM chunk_ids(p_shard, done + 1, done + size) i;
    INSERT INTO snapshot SELECT * FROM sum_up(p_shard, done + 1, done + size);
    done := done + size;
    made := made + 1;
  END LOOP;
  RETURN made;
END $function$;
GRANT EXECUTE ON FUNCTION ledger.take_snapshots(smallint,integer) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.totals_at(p_accounts bigint[], p_at timestamp with time zone, p_shard smallint DEFAULT '-1'::integer, p_seq bigint DEFAULT 0)
 RETURNS TABLE(account bigint, debits numeric, credits numeric)
 LANGUAGE sql
 STABLE
 SET search_path TO 'ledger', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET jit TO 'off'
AS $function$
  SELECT w.id, coalesce(sum(t.debits), 0), coalesce(sum(t.credits), 0)
  FROM unnest(p_accounts) w(id) LEFT JOIN (
    SELECT * FROM booked_at(p_accounts, p_at, p_shard, p_seq)
    UNION ALL
    SELECT l.account, greatest(-l.amount, 0), greatest(l.amount, 0)
      FROM late(p_at, p_shard, p_seq, CASE cardinality(p_accounts) WHEN 1 THEN p_accounts[1] END) l
  ) t ON t.account = w.id
  GROUP BY w.id $function$;
GRANT EXECUTE ON FUNCTION ledger.totals_at(bigint[],timestamp with time zone,smallint,bigint) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.verified_at(p_shard smallint, p_after bigint, p_upto bigint)
 RETURNS TABLE(account bigint, balance numeric)
 LANGUAGE sql
 STABLE
AS $function$
  WITH step AS MATERIALIZED (
    SELECT j.owner, j.payee, j.asset,
      sum(CASE WHEN j.phase = 1 THEN -j.amount ELSE j.rest END)
        FILTER (WHERE CASE WHEN j.phase = 1 THEN j.amount ELSE j.rest END <> 0) AS back,
      sum(CASE WHEN j.phase = 1 THEN j.amount ELSE -j.amount - j.rest END)
        FILTER (WHERE CASE WHEN j.phase = 1 THEN j.amount ELSE j.amount + j.rest END <> 0) AS held,
      sum(j.amount - j.fee) FILTER (WHERE j.phase <> 1 AND j.amount <> j.fee) AS share,
      sum(j.fee) FILTER (WHERE j.phase <> 1 AND j.fee <> 0) AS fee
    FROM ledger.journal j WHERE j.shard = p_shard AND j.seq > p_after AND j.seq <= p_upto
      AND num_nonnulls(j.accounts, j.amounts, j.guards) = 0
    GROUP BY j.owner, j.payee, j.asset
  )
  SELECT l.account, sum(l.amount) FROM (
    SELECT v.account, v.balance AS amount FROM ledger.verified_balance v WHERE v.shard = p_shard
    UNION ALL
    SELECT s.owner, s.back FROM step s
    UNION ALL
    SELECT ledger.holds_account(s.asset), s.held FROM step s
    UNION ALL
    SELECT s.payee, s.share FROM step s
    UNION ALL
    SELECT 1, s.fee FROM step s
    UNION ALL
    SELECT l.account, l.amount FROM ledger.journal j
      CROSS JOIN LATERAL ledger.legs(ROW(j.*)::ledger.journal) l
      WHERE j.shard = p_shard AND j.seq > p_after AND j.seq <= p_upto
        AND num_nonnulls(j.accounts, j.amounts, j.guards) > 0
  ) l WHERE l.amount IS NOT NULL GROUP BY l.account $function$;
GRANT EXECUTE ON FUNCTION ledger.verified_at(smallint,bigint,bigint) TO hub_app;

CREATE OR REPLACE FUNCTION ledger.wrong_day_ends()
 RETURNS TABLE(day date, example text)
 LANGUAGE sql
 STABLE
AS $function$
  WITH place AS (
    SELECT e.day, h.shard, s.seq, lag(s.seq, 1, 0::bigint) OVER (PARTITION BY s.n ORDER BY e.day) AS after
    FROM ledger.day_end e CROSS JOIN LATERAL unnest(e.seqs) WITH ORDINALITY s(seq, n)
    JOIN (SELECT h.shard, row_number() OVER (ORDER BY h.shard) AS n FROM ledger.head h) h ON h.n = s.n
  ), change AS (
    SELECT p.day, m.account, sum(m.amount) AS amount
    FROM place p CROSS JOIN LATERAL ledger.movements(p.shard, p.after, p.seq) m GROUP BY 1, 2
  ), held AS (
    SELECT c.day, c.account, sum(c.amount) OVER w AS balance, sum(c.amount) OVER w - c.amount AS before
    FROM change c WINDOW w AS (PARTITION BY c.account ORDER BY c.day)
  ), step AS (
    SELECT h.day, ledger.account_group(a.code) AS code, a.asset,
      sum((h.balance <> 0)::integer - (h.before <> 0)::integer) AS accounts,
      sum(greatest(-h.balance, 0) - greatest(-h.before, 0)) AS debits,
      sum(greatest(h.balance, 0) - greatest(h.before, 0)) AS credits
    FROM held h JOIN ledger.account a ON a.id = h.account GROUP BY 1, 2, 3
  ), line AS (
    SELECT e.day, g.code, g.asset, coalesce(sum(s.accounts) OVER w, 0) AS accounts,
      coalesce(sum(s.debits) OVER w, 0) AS debits, coalesce(sum(s.credits) OVER w, 0) AS credits
    FROM ledger.day_end e CROSS JOIN (SELECT DISTINCT code, asset FROM step) g
    LEFT JOIN step s ON s.day = e.day AND s.code = g.code AND s.asset = g.asset
    WINDOW w AS (PARTITION BY g.code, g.asset ORDER BY e.day)
  )
  SELECT coalesce(l.day, k.day), format('day %s: %s', coalesce(l.day, k.day), coalesce(l.code, k.code))
  FROM (SELECT * FROM line WHERE accounts <> 0) l
  FULL JOIN (SELECT e.day, u.* FROM ledger.day_end e
      CROSS JOIN LATERAL unnest(e.codes, e.assets, e.accounts, e.debits, e.credits)
        u(code, asset, accounts, debits, credits)) k
    ON k.day = l.day AND k.code = l.code AND k.asset = l.asset
  WHERE (l.accounts, l.debits, l.credits) IS DISTINCT FROM (k.accounts::numeric, k.debits, k.credits) $function$;
GRANT EXECUTE ON FUNCTION ledger.wrong_day_ends() TO hub_app;

CREATE OR REPLACE FUNCTION ledger.wrong_snapshots(p_shard smallint, p_after bigint, p_upto bigint)
 RETURNS TABLE(seq bigint, example text)
 LANGUAGE sql
 STABLE
AS $function$
  WITH part AS MATERIALIZED (
    SELECT k.seq_from, k.seq_to FROM ledger.chunk k
    WHERE k.shard = p_shard AND k.seq_to > p_after AND k.seq_to <= p_upto
  ), summed AS (
    SELECT p.seq_to, m.* FROM part p CROSS JOIN LATERAL (
      SELECT m.account, -sum(least(m.amount, 0)) AS debits, sum(greatest(m.amount, 0)) AS credits,
        array_agg(greatest(m.seq - p.seq_to, -32768)::smallint ORDER BY m.seq) AS entries,
        array_agg(m.amount ORDER BY m.seq) AS amounts
      FROM ledger.movements(p_shard, p.seq_from - 1, p.seq_to) m GROUP BY m.account) m
  ), kept AS (
    SELECT s.account, s.seq_to, s.debits - lag(s.debits, 1, 0::numeric) OVER w AS debits,
      s.credits - lag(s.credits, 1, 0::numeric) OVER w AS credits, s.entries, s.amounts
    FROM ledger.snapshot s WHERE s.shard = p_shard AND s.seq_to <= p_upto
    WINDOW w AS (PARTITION BY s.account ORDER BY s.seq_to)
  )
  SELECT c.seq_to, format('shard %s chunk of seq %s to %s: the one before it ends at %s', p_shard, c.seq_from,
    c.seq_to, c.before)
  FROM (SELECT k.*, coalesce(lag(k.seq_to) OVER (ORDER BY k.seq_to), 0) AS before
    FROM ledger.chunk k WHERE k.shard = p_shard) c
  WHERE c.seq_to > p_after AND c.seq_to <= p_upto AND c.seq_from <> c.before + 1
  UNION ALL
  SELECT w.seq_to, format('shard %s snapshot of account %s at seq %s%s', p_shard, w.account, w.seq_to,
    CASE WHEN NOT w.has_chunk THEN ': there is no such chunk' END)
  FROM (SELECT coalesce(r.account, k.account) AS account, coalesce(r.seq_to, k.seq_to) AS seq_to,
      coalesce(r.seq_to, k.seq_to) IN (SELECT p.seq_to FROM part p) AS has_chunk
    FROM summed r FULL JOIN (SELECT * FROM kept WHERE seq_to > p_after) k
      ON k.account = r.account AND k.seq_to = r.seq_to
    WHERE (r.debits, r.credits, r.entries, r.amounts) IS DISTINCT FROM
      (k.debits, k.credits, k.entries, k.amounts)) w
  UNION ALL
  SELECT c.seq_to, format('shard %s chunk of seq %s to %s: its ids are others', p_shard, c.seq_from, c.seq_to)
  FROM ledger.chunk c CROSS JOIN LATERAL ledger.chunk_ids(p_shard, c.seq_from, c.seq_to) i
  WHERE c.shard = p_shard AND c.seq_to > p_after AND c.seq_to <= p_upto
    AND (c.id_first, c.id_last) IS DISTINCT FROM (i.id_first, i.id_last) $function$;
GRANT EXECUTE ON FUNCTION ledger.wrong_snapshots(smallint,bigint,bigint) TO hub_app;

CREATE SCHEMA public;
GRANT USAGE ON SCHEMA public TO PUBLIC;

CREATE EXTENSION pg_trgm SCHEMA public;
