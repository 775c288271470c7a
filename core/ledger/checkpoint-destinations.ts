import type { S3ClientConfig } from '@aws-sdk/client-s3'
import type { Egress } from '../egress/http.ts'
import type { Note } from './checkpoint.ts'
import type { CheckpointDestination } from './ship-checkpoints.ts'

const DAY_MS = 86_400_000
const TEXT = 'text/plain; charset=utf-8'

/** Posts signed notes to a URL, which confirms them with a 2xx status. */
export const webhookDestination = (url: string, route: Egress): CheckpointDestination => ({
  name: 'webhook',
  async send(notes) {
    const body = notes.map(({ note }) => note).join('\n')
    const headers = { 'content-type': TEXT }
    const { status } = await route.request({ url, method: 'POST', headers, body })
    if (status < 200 || status > 299) throw new Error(`the webhook responded with ${status}`)
  },
  close: () => route.close(),
})

export interface BucketSettings {
  readonly bucket: string
  /** Prefix of object names, empty or ending in `/`. */
  readonly prefix: string
  /** Address of a compatible server; undefined: AWS. */
  readonly endpoint: string | undefined
  /** Days for which object lock (compliance mode) forbids to change or delete an object. */
  readonly lockDays: number
  /** @defaultValue region and credentials of the environment, as for all AWS software */
  readonly client?: S3ClientConfig
}

/**
 * Stores each checkpoint as an object of an S3-compatible bucket with object lock, which forbids
 * everyone to change or delete it.
 */
export async function bucketDestination({
  bucket,
  prefix,
  endpoint,
  lockDays,
  client: settings = {},
}: BucketSettings): Promise<CheckpointDestination> {
  // Loaded only when configured, so that other hubs start faster.
  const { PutObjectCommand, S3Client } = await import('@aws-sdk/client-s3')
  const place = endpoint === undefined ? {} : { endpoint, forcePathStyle: true }
  const client = new S3Client({ ...settings, ...place })
  const put = ({ ledger, shard, seq, audit, at, note }: Note) =>
    client.send(
      new PutObjectCommand({
        Bucket: bucket,
        Key: `${prefix}${ledger}/${shard}/${seq}-${audit?.lines ?? 0}`,
        Body: note,
        ContentType: TEXT,
        ChecksumAlgorithm: 'SHA256',
        ObjectLockMode: 'COMPLIANCE',
        ObjectLockRetainUntilDate: new Date(Date.parse(at) + lockDays * DAY_MS),
      }),
    )
  return {
    name: 'bucket',
    send: async (notes) => void (await Promise.all(notes.map(put))),
    close: async () => client.destroy(),
  }
}
