import type { PoolClient } from 'pg'
import type { JsonObject } from '../../json.ts'
import { storable } from '../listings/discovery/clean-text.ts'

type Queryable = Pick<PoolClient, 'query'>

/** Passed tests that are stored per endpoint: also those of versions that await approval. */
const TESTS_KEPT = 5

/** Endpoint whose test call passed. */
export interface PassedTest {
  readonly service: string
  readonly method: string
  readonly path: string
  /** Digest of the endpoint before the call: see `readEndpointDigest`. */
  readonly digest: Buffer
  readonly latencyMs: number
  /** Becomes the sample that buyers see. */
  readonly input: JsonObject
}

/** Bytes of JSON; larger inputs are not stored. */
const SAMPLE_MAX = 4_000

/**
 * Lists `METHOD /path` of the endpoints that neither a test call nor a customer has proven, unless
 * the provider waives the tests.
 */
export async function findMissingTests(on: Queryable, slug: string): Promise<readonly string[]> {
  const { rows } = await on.query<{ route: string }>(
    `SELECT t.method || ' ' || t.path AS route
     FROM hub.upstream u
     CROSS JOIN LATERAL hub.untested_endpoints(u.slug, hub.upstream_content(u.slug)) t
     WHERE u.slug = $1 AND u.tests_waived_at IS NULL ORDER BY t.n`,
    [slug],
  )
  return rows.map(({ route }) => route)
}

/** Digest of what a test of an endpoint proves; undefined if there is no such endpoint. */
export async function readEndpointDigest(
  on: Queryable,
  slug: string,
  method: string,
  path: string,
): Promise<Buffer | undefined> {
  const { rows } = await on.query<{ digest: Buffer }>(
    `SELECT hub.endpoint_digest(c.content ->> 'baseUrl', e) AS digest
     FROM (SELECT hub.upstream_content($1) AS content) c,
       jsonb_array_elements(c.content -> 'endpoints') e
     WHERE e ->> 'method' = $2 AND e ->> 'path' = $3`,
    [slug, method, path],
  )
  return rows[0]?.digest
}

/** Stores a passed test, and drops the oldest ones of the same endpoint. */
export async function recordPassedTest(on: Queryable, test: PassedTest): Promise<void> {
  const { service, method, path, digest, latencyMs, input } = test
  const sample = storable(input, SAMPLE_MAX)
  await on.query(
    `INSERT INTO hub.endpoint_test (service, method, path, digest, latency_ms, input)
     VALUES ($1, $2, $3, $4, $5,
       CASE WHEN octet_length($6::jsonb::text) <= 20000 THEN $6::jsonb END)
     ON CONFLICT (service, digest)
       DO UPDATE SET (passed_at, latency_ms, input) = (now(), $5, excluded.input)`,
    [service, method, path, digest, latencyMs, sample === null ? null : JSON.stringify(sample)],
  )
  await on.query(
    `DELETE FROM hub.endpoint_test WHERE service = $1 AND digest IN (
       SELECT t.digest FROM hub.endpoint_test t
       WHERE t.service = $1 AND t.method = $2 AND t.path = $3
       ORDER BY t.passed_at DESC, t.digest OFFSET ${TESTS_KEPT})`,
    [service, method, path],
  )
}

/** Records that the provider sells the service without test calls. */
export async function waiveTests(on: Queryable, slug: string): Promise<void> {
  await on.query(
    `UPDATE hub.upstream SET tests_waived_at = coalesce(tests_waived_at, now()) WHERE slug = $1`,
    [slug],
  )
}
