import type { Body } from './fixture.ts'

/** Addresses that the hub refuses to call. */
export const BLOCKED_URLS: readonly string[] = [
  'http://127.0.0.1:1/',
  'http://169.254.169.254/latest',
  'http://localhost/',
  'ftp://api.agenthub-test.com',
  'https://user:pw@api.agenthub-test.com',
  'https://api.agenthub-test.com/?a=1',
  'https://api.agenthub-test.com:22/',
]

/** Contradictory members of an endpoint. */
export const CONTRADICTORY: readonly Body[] = [
  { path: '/a/../b' },
  { path: '/{x}', upstream_path: '/y' },
  { upstream_path: '/{y}' },
  { query: ['q'] },
  { success: [404] },
  { passes: [402] },
  { passes: [404], charges: [410] },
  { passes: [503], charges: [503] },
  { retries: 1 },
  { streams: true, output_schema: { type: 'object' } },
  ...[
    {},
    { header: 'a', pointer: '/a' },
    { header: 'a b' },
    { pointer: 'a' },
    { pointer: '/~2' },
    { header: 'a', amount_microdollars: 0 },
    { header: 'a', amount_microdollars: 2_001 },
    { header: 'a', per: 0 },
    { header: 'a', unit: 'Two words' },
  ].map((each) => ({ metered: { unit: 'tokens', amount_microdollars: 1, ...each } })),
  { streams: true, metered: { unit: 'tokens', amount_microdollars: 1, pointer: '/a' } },
  { max_bytes: 2_000_000, metered: { unit: 'tokens', amount_microdollars: 1, pointer: '/a' } },
]
