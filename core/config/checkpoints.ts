import type { BucketSettings } from '../ledger/checkpoint-destinations.ts'
import type { Witness } from '../ledger/transparency/witnesses.ts'
import { ConfigError } from '../runtime/config-error.ts'
import type { Environment } from './environment.ts'

/** Places outside the hub that store checkpoints. */
export interface CheckpointSettings {
  readonly webhook: string | undefined
  /** Address that receives the checkpoints of each day. */
  readonly mailbox: string | undefined
  readonly bucket: BucketSettings | undefined
  readonly witnesses: readonly Witness[]
}

/** @throws ConfigError if there is a mailbox and no mail server */
export function checkpointSettings(e: Environment): CheckpointSettings {
  const { HUB_CHECKPOINTS_BUCKET: bucket, HUB_CHECKPOINTS_MAIL: mailbox } = e
  if (mailbox !== undefined && e.SMTP_URL === undefined) {
    throw new ConfigError('HUB_CHECKPOINTS_MAIL requires SMTP_URL: set it too.')
  }
  return {
    webhook: e.HUB_CHECKPOINTS_WEBHOOK,
    mailbox,
    bucket: bucket === undefined ? undefined : bucketSettings(bucket, e),
    witnesses: e.HUB_WITNESSES,
  }
}

/** Parses `s3://bucket` or `s3://bucket/prefix`. */
function bucketSettings(text: string, e: Environment): BucketSettings {
  const { hostname, pathname } = new URL(text)
  const prefix = pathname.slice(1)
  return {
    bucket: hostname,
    prefix: prefix === '' || prefix.endsWith('/') ? prefix : `${prefix}/`,
    endpoint: e.HUB_CHECKPOINTS_BUCKET_ENDPOINT,
    lockDays: e.HUB_CHECKPOINTS_LOCK_DAYS,
  }
}
