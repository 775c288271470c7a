import type { S3ClientConfig } from '@aws-sdk/client-s3'

/** Objects of an S3-compatible bucket below a prefix. */
export interface Bucket {
  /** `s3://bucket/prefix`, without a slash at the end. */
  readonly place: string
  put(path: string, body: Uint8Array, headers?: ObjectHeaders): Promise<void>
  /** Returns undefined if there is no such object. */
  get(path: string): Promise<Buffer | undefined>
  /** Names of the objects that start with a prefix. */
  list(prefix: string): Promise<readonly string[]>
  remove(path: string): Promise<void>
  close(): void
}

/** Headers with which the server returns an object. */
export interface ObjectHeaders {
  readonly contentType?: string
  readonly cacheControl?: string
}

export interface BucketOptions {
  /** Address of an S3-compatible server; undefined: AWS. */
  readonly endpoint?: string | undefined
  /** @defaultValue region and credentials of the environment, as for all AWS software */
  readonly client?: S3ClientConfig
}

/** Opens `s3://bucket/prefix`. */
export async function openBucket(
  url: string,
  { endpoint, client: settings = {} }: BucketOptions = {},
): Promise<Bucket> {
  // Loaded only when used, so that other commands start faster.
  const s3 = await import('@aws-sdk/client-s3')
  const { hostname: Bucket, pathname } = new URL(url)
  const prefix = pathname.split('/').filter(Boolean).join('/')
  const key = (path: string): string => (prefix === '' ? path : `${prefix}/${path}`)
  const address = endpoint === undefined ? {} : { endpoint, forcePathStyle: true }
  const client = new s3.S3Client({ ...settings, ...address })
  return {
    place: url.endsWith('/') ? url.slice(0, -1) : url,
    async put(path, Body, { contentType: ContentType, cacheControl: CacheControl } = {}) {
      const headers = { ...(ContentType && { ContentType }), ...(CacheControl && { CacheControl }) }
      const object = { Bucket, Key: key(path), Body, ChecksumAlgorithm: 'SHA256' } as const
      await client.send(new s3.PutObjectCommand({ ...object, ...headers }))
    },
    async get(path) {
      try {
        const { Body } = await client.send(new s3.GetObjectCommand({ Bucket, Key: key(path) }))
        return Buffer.from(await Body!.transformToByteArray())
      } catch (error) {
        const isMissing =
          error instanceof s3.S3ServiceException &&
          error.$metadata.httpStatusCode === 404 &&
          error.name !== 'NoSuchBucket'
        if (isMissing) return undefined
        throw error
      }
    },
    async list(path) {
      const names: string[] = []
      for await (const page of s3.paginateListObjectsV2(
        { client },
        { Bucket, Prefix: key(path) },
      )) {
        names.push(...(page.Contents ?? []).flatMap(({ Key }) => Key?.slice(key('').length) ?? []))
      }
      return names
    },
    async remove(path) {
      await client.send(new s3.DeleteObjectCommand({ Bucket, Key: key(path) }))
    },
    close: () => client.destroy(),
  }
}
