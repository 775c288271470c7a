import type { PoolClient } from 'pg'
import { isJsonObject, type JsonObject } from '../../json.ts'
import { holdReasons, imitatedService } from '../review/impersonation.ts'
import { endWaiting, type ReviewRules, readReview, recordVersion } from '../review/versions.ts'
import { missingParts } from './completeness.ts'
import { type EndpointInfo, type UpstreamInfo, writeEndpoints } from './store.ts'

type Reviewed = Pick<UpstreamInfo, 'slug' | 'provider'>

/**
 * Records what callers would see and send as a new version, if it differs. An incomplete one waits
 * until it is complete. Drafts have no versions.
 */
export async function recordUpstreamVersion(
  client: PoolClient,
  { slug, provider, state }: Reviewed & Pick<UpstreamInfo, 'state'>,
  rules: ReviewRules,
): Promise<void> {
  if (state !== 'draft' && state !== 'retired') {
    const content = await readContent(client, slug)
    const held = [
      ...holdReasons(textsOf(slug, content), rules.platformNames),
      ...(await imitatedService(client, provider, String(content['name']))),
    ]
    const isIncomplete = (await missingParts(client, slug)).length > 0
    await recordVersion(client, slug, content, { review: rules.approval || isIncomplete, held })
    await sellApproved(client, slug)
  }
  await deleteUnusedSecrets(client, slug)
}

/** Puts a pending service on sale if its version needs no review any more. */
async function sellApproved(client: PoolClient, slug: string): Promise<void> {
  await client.query(
    `UPDATE hub.upstream SET state = 'active', activated_at = coalesce(activated_at, now())
     WHERE slug = $1 AND state = 'pending' AND EXISTS (SELECT FROM hub.content_version
       WHERE subject = $1 AND state = 'approved')`,
    [slug],
  )
}

async function readContent(client: PoolClient, slug: string): Promise<JsonObject> {
  const { rows } = await client.query<{ content: JsonObject }>(
    'SELECT hub.upstream_content($1) AS content',
    [slug],
  )
  return rows[0]!.content
}

function textsOf(slug: string, content: JsonObject) {
  const endpoints = Array.isArray(content['endpoints']) ? content['endpoints'] : []
  const sentences = [content, ...endpoints.filter(isJsonObject)].map((each) =>
    String(each['summary']),
  )
  const schemas = endpoints
    .filter(isJsonObject)
    .flatMap(({ input, output }) => [...annotationsOf(input), ...annotationsOf(output)])
  return { slug, name: String(content['name']), sentences: [...sentences, ...schemas] }
}

/** Titles and descriptions of a schema. */
function annotationsOf(schema: unknown): readonly string[] {
  if (typeof schema !== 'object' || schema === null) return []
  return Object.entries(schema).flatMap(([name, value]: [string, unknown]) =>
    typeof value !== 'string'
      ? annotationsOf(value)
      : name === 'title' || name === 'description'
        ? [value]
        : [],
  )
}

/** Deletes secrets that no version needs any more. */
export async function deleteUnusedSecrets(client: PoolClient, slug: string): Promise<void> {
  await client.query(
    `DELETE FROM hub.upstream_secret s USING hub.upstream u
     WHERE s.service = $1 AND u.slug = $1
       AND NOT (s.listed AND s.origin = hub.origin_of(u.base_url))
       AND NOT EXISTS (SELECT FROM hub.content_version v
         WHERE v.subject = $1 AND v.state IN ('approved', 'waiting')
           AND hub.origin_of(v.content ->> 'baseUrl') = s.origin AND v.content -> 'secrets'
             @> jsonb_build_array(jsonb_build_object('place', s.place, 'name', s.name)))`,
    [slug],
  )
}

/** Withdraws the waiting version: the owner's next one starts from what callers see. */
export async function withdrawUpstreamVersion(client: PoolClient, slug: string): Promise<void> {
  await endWaiting(client, slug, 'withdrawn')
  const { approved } = await readReview(client, slug)
  if (!approved) return
  const { content } = approved
  await client.query(
    `UPDATE hub.upstream SET name = c.name, category = c.category, summary = c.summary,
       base_url = c."baseUrl", health_path = c."healthPath", updated_at = now(),
       request_headers = c."requestHeaders", response_headers = c."responseHeaders"
     FROM jsonb_to_record($2::jsonb) AS c (name text, category text, summary text, "baseUrl" text,
       "healthPath" text, "requestHeaders" text[], "responseHeaders" text[]) WHERE slug = $1`,
    [slug, JSON.stringify(content)],
  )
  await client.query(
    `UPDATE hub.upstream_secret SET listed = $2::jsonb @>
       jsonb_build_array(jsonb_build_object('place', place, 'name', name))
     WHERE service = $1 AND origin = hub.origin_of($3)`,
    [slug, JSON.stringify(content['secrets']), content['baseUrl']],
  )
  await writeEndpoints(client, slug, content['endpoints'] as readonly EndpointInfo[])
  await deleteUnusedSecrets(client, slug)
}
