import type { Pool } from 'pg'
import { inTransaction } from '../../db/transaction.ts'
import { importRows } from './discovery/import.ts'
import { type ListingTarget, type OriginContents, readOrigin } from './discovery/read-origin.ts'
import { openSource } from './discovery/sources.ts'
import { recordProbe } from './probe/record.ts'
import { listingId, type Rank } from './store.ts'
import { type ListingDeps, type TargetValidation, validateTarget } from './validate-target.ts'

/** Result of submitting a URL. */
export interface SubmissionResult {
  readonly validation: TargetValidation
  /** Id of its listing; undefined if it was refused. */
  readonly id: string | undefined
}

/** Source of a claim, with its rank. */
export interface ClaimSource {
  readonly source: string
  readonly rank: Rank
  readonly pass?: number
  /** Prefix of the source's keys. */
  readonly prefix?: string
}

/** Validates a URL and lists it, active at once, or stores the reason for refusing it. */
export async function submitTarget(
  deps: ListingDeps,
  target: ListingTarget,
  claimSource: ClaimSource,
): Promise<SubmissionResult> {
  const validation = await validateTarget(deps, target)
  await recordClaim(deps.pool, target, validation, claimSource)
  const { candidate, probeResult } = validation
  if (!candidate || !probeResult) return { validation, id: undefined }
  const id = listingId(candidate.method, candidate.url)
  await recordProbe(deps.pool, id, probeResult, Math.random())
  return { validation, id }
}

function recordClaim(
  pool: Pool,
  target: ListingTarget,
  validation: TargetValidation,
  claimSource: ClaimSource,
): Promise<unknown> {
  const { url, method, reason, candidate } = validation
  const result = candidate ? { candidate } : { reason: reason ?? 'no_offer' }
  const key = `${claimSource.prefix ?? ''}${method ?? '*'} ${url}`
    .toWellFormed()
    .replaceAll('\0', '')
  const row = { key, raw: { url: target.url, method: target.method }, result }
  const { source, rank, pass = 1 } = claimSource
  return inTransaction(pool, (client) => importRows(client, source, rank, [row], pass))
}

/** Resources of an origin that are submitted at once; a job submits the rest. */
const IMMEDIATE_MAX = 10

export interface OriginSubmission {
  readonly contents: OriginContents
  readonly submitted: readonly SubmissionResult[]
  /** Resources left for the job. */
  readonly queued: number
}

/** Returns the source name of an origin. */
export const originSource = (origin: string): string => `origin:${origin}`

/** Registers an origin: submits its first resources now and reads its documents every day. */
export async function submitOrigin(
  deps: ListingDeps,
  origin: string,
  claimSource: ClaimSource,
): Promise<OriginSubmission> {
  const contents = await readOrigin(deps.egress, origin, deps.rules)
  const submitted: SubmissionResult[] = []
  for (const target of contents.targets.slice(0, IMMEDIATE_MAX)) {
    submitted.push(await submitTarget(deps, target, claimSource))
  }
  if (submitted.some(({ id }) => id !== undefined)) {
    await openSource(deps.pool, originSource(origin))
  }
  return {
    contents,
    submitted,
    queued: Math.max(0, contents.targets.length - IMMEDIATE_MAX),
  }
}

/** Validates the first resources of an origin without writing anything. */
export async function validateOrigin(deps: ListingDeps, origin: string) {
  const contents = await readOrigin(deps.egress, origin, deps.rules)
  const validations: TargetValidation[] = []
  for (const target of contents.targets.slice(0, IMMEDIATE_MAX)) {
    validations.push(await validateTarget(deps, target))
  }
  return { contents, validations }
}
