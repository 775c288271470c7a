import type { Body } from './world.ts'

/** Addresses that the hub would not ask. */
export const UNASKED: readonly string[] = [
  'http://127.0.0.1:1/',
  'http://169.254.169.254/latest',
  'http://localhost/',
  'ftp://api.agenthub-test.com',
  'https://user:pw@api.agenthub-test.com',
  'https://api.agenthub-test.com/?a=1',
  'https://api.agenthub-test.com:22/',
]

/** Members of an endpoint that contradict themselves. */
export const CONTRADICTORY: readonly Body[] = [
  { path: '/a/../b' },
  { path: '/{x}', upstream_path: '/y' },
  { upstream_path: '/{y}' },
  { query: ['q'] },
  { success: [404] },
  { retries: 1 },
  { streams: true, output_schema: { type: 'object' } },
]
