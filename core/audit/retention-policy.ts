/** Days after which jobs delete data; settings of the operator. */
export interface RetentionDays {
  /** Files of exports. */
  readonly exports: number
  readonly webhookEvents: number
  /** Single probes of listings. */
  readonly probes: number
}

/** Variables of these settings. */
export const RETENTION_VARIABLES: Readonly<Record<keyof RetentionDays, string>> = {
  exports: 'HUB_KEEP_EXPORTS_DAYS',
  webhookEvents: 'HUB_KEEP_WEBHOOK_EVENTS_DAYS',
  probes: 'HUB_KEEP_PROBES_DAYS',
}

/** Rule by which a job deletes rows of a table. */
export interface DeletionRule {
  readonly data: string
  readonly table: `hub.${string}`
  /** Tables whose rows are deleted with them. */
  readonly dependents?: readonly string[]
  /** SQL of the instant from which the days count. */
  readonly since: string
  /** SQL condition of the rows to be deleted. @defaultValue all of that age */
  readonly where?: string
  readonly days: number | keyof RetentionDays
  /** Job or queue that deletes them. */
  readonly job: string
}

export const DELETION_RULES = {
  'webhook-events': {
    data: 'Events for webhooks, and their deliveries.',
    table: 'hub.webhook_event',
    dependents: ['hub.webhook_delivery'],
    since: 'at',
    days: 'webhookEvents',
    job: 'prune-webhooks',
  },
  exports: {
    data: 'Files of exports. Who requested them and when is permanent.',
    table: 'hub.export_part',
    since: '(SELECT e.changed_at FROM hub.export e WHERE e.id = export)',
    where: `export IN (SELECT e.id FROM hub.export e WHERE e.state = 'done')`,
    days: 'exports',
    job: 'prune-exports',
  },
  probes: {
    data: 'Single probes of external listings. Their daily totals are permanent.',
    table: 'hub.listing_probe',
    since: 'at',
    days: 'probes',
    job: 'prune-probes',
  },
  responses: {
    data: 'Responses of paid calls, stored encrypted for repeated requests for a day.',
    table: 'hub.kept_answer',
    since: 'expires_at',
    days: 0,
    job: 'prune-answers',
  },
  quotes: {
    data: 'Quotes, after they expired.',
    table: 'hub.quote',
    since: 'expires_at',
    days: 1,
    job: 'prune-quotes',
  },
  claims: {
    data: 'Payments that were released without settling, after they expired.',
    table: 'hub.payment_claim',
    since: 'valid_before',
    where: `state = 'released'`,
    days: 1,
    job: 'prune-claims',
  },
  'sign-in-links': {
    data: 'Links for signing in by email, after they expired.',
    table: 'hub.magic_link',
    since: 'expires_at',
    days: 1,
    job: 'prune-sign-ins',
  },
  sessions: {
    data: 'Sessions of signed-in people, with network and device, after they expired.',
    table: 'hub.session',
    since: 'expires_at',
    days: 0,
    job: 'prune-sign-ins',
  },
  challenges: {
    data: 'Messages for wallets to sign, after they expired.',
    table: 'hub.challenge',
    since: 'expires_at',
    days: 1,
    job: 'prune-challenges',
  },
  'used-sign-ins': {
    data: 'Nonces of challenges that wallets signed to spend credits, after they expired.',
    table: 'hub.used_sign_in',
    since: 'expires_at',
    days: 0,
    job: 'prune-challenges',
  },
  'used-agent-nonces': {
    data: 'Nonces by which agents signed requests, after the signatures expired.',
    table: 'hub.used_agent_nonce',
    since: 'expires_at',
    days: 1,
    job: 'prune-challenges',
  },
  mail: {
    data: 'Emails with their recipient: until sent, or expired.',
    table: 'hub.mail',
    since: 'expires_at',
    days: 0,
    job: 'send-mail',
  },
  'rate-windows': {
    data: 'Counters of rate limits.',
    table: 'hub.rate_window',
    since: 'ends_at',
    days: 0,
    job: 'prune-windows',
  },
} as const satisfies Readonly<Record<string, DeletionRule>>

export type DeletionName = keyof typeof DELETION_RULES

/** Data that no job deletes by age. */
export interface KeptData {
  readonly data: string
  /** Names without their schema. @defaultValue all tables of the schema */
  readonly tables?: readonly string[]
  readonly schema: 'hub' | 'ledger'
  /** evidence: no serving login may delete it. account: with its owner. state: replaced by use. */
  readonly kept: 'evidence' | 'account' | 'state'
}

const hub = (
  kept: KeptData['kept'],
  data: string,
  tables: string,
): KeptData & { readonly tables: readonly string[] } => ({
  kept,
  data,
  schema: 'hub',
  tables: tables.split(/\s+/),
})

export const KEPT_DATA: Readonly<Record<string, KeptData>> = {
  journal: {
    kept: 'evidence',
    data: 'Journal, seals, checkpoints, accounts, snapshots and idempotency keys of the ledger.',
    schema: 'ledger',
  },
  audit: hub(
    'evidence',
    'Audit log, changes of accounts, roles, acts of staff, incidents, linked identities, exports.',
    `audit activity role staff_act identity_link outgoing_switch migration export rate_request
     incident incident_update`,
  ),
  documents: hub(
    'evidence',
    'Receipts, statements and credit notes, with legal names; billing details.',
    'document billing_party',
  ),
  calls: hub(
    'evidence',
    'Paid and free calls: caller, endpoint, times and prices, not what was sent or returned.',
    `call idempotent_call page_call caller_day caller_week outcome_day service_day payee_day
     outflow`,
  ),
  payments: hub(
    'evidence',
    'Payments, payouts, platform wallets and their reconciliation with the chain.',
    `payment_intent payout payout_part payout_first payout_approval payout_address
     payout_address_request transfer wallet_entry wallet_deposit gas_wallet reconciliation
     reconciliation_exception lapse_notice distrusted_payer unresolved`,
  ),
  prices: hub(
    'evidence',
    'Prices, commission and the versions of what was sold.',
    `price endpoint service commission_rule commission_rounding content_version upstream
     upstream_endpoint upstream_price upstream_health upstream_import`,
  ),
  principals: hub(
    'evidence',
    'Wallets, people, keys without their secrets, and providers; a closed account keeps them.',
    'principal person api_key sub_key_naming provider key_version key_secret',
  ),
  listings: hub(
    'evidence',
    'External listings, their owners, changes and daily totals.',
    'listing listing_change listing_day listing_owner listing_source discovery',
  ),
  settings: hub(
    'account',
    'Linked wallets, webhooks, subscriptions, domains, credentials: until their owner ends them.',
    `wallet_link webhook incident_subscription balance_subscription low_balance_threshold domain
     domain_rule upstream_secret endpoint_test plugin`,
  ),
  devices: hub('state', 'Devices of a person: the last ones only.', 'device'),
  work: hub(
    'state',
    'Work in progress, and what is computed from the journal.',
    `abandoned_attempt allowance_excess backup_run credit_watch cursor earning job_run
     low_balance open_hold outgoing_epoch plugin_process process sent_payment sent_transaction
     spending wallet_nonce`,
  ),
  search: hub(
    'state',
    'Search index of services and listings.',
    'search_document search_entry search_meaning search_posting search_term',
  ),
}
