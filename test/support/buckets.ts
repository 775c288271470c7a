import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { closeServer, listenOnLoopback } from './loopback.ts'

/** S3-compatible server in this process: objects of all buckets by path. */
export interface BucketServer extends AsyncDisposable {
  readonly endpoint: string
  readonly objects: Map<string, Buffer>
}

const escape = (text: string): string => text.replaceAll('&', '&amp;')

/** Serves PUT, GET, DELETE and ListObjectsV2. */
export async function openBuckets(): Promise<BucketServer> {
  const objects = new Map<string, Buffer>()
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<unknown> => {
    const { pathname, searchParams } = new URL(request.url!, 'http://localhost')
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    if (request.method === 'PUT') {
      objects.set(pathname, Buffer.concat(pieces))
      return response.end()
    }
    if (request.method === 'DELETE') {
      objects.delete(pathname)
      return response.writeHead(204).end()
    }
    if (searchParams.get('list-type') === '2') {
      const bucket = `${pathname.replace(/\/$/, '')}/`
      const prefix = bucket + (searchParams.get('prefix') ?? '')
      const keys = [...objects.keys()].filter((path) => path.startsWith(prefix))
      const rows = keys.map(
        (path) => `<Contents><Key>${escape(path.slice(bucket.length))}</Key></Contents>`,
      )
      const xml = `<ListBucketResult>${rows.join('')}</ListBucketResult>`
      return response.setHeader('content-type', 'application/xml').end(xml)
    }
    const found = objects.get(pathname)
    return found ? response.end(found) : response.writeHead(404).end()
  }
  const server = createServer((request, response) => void serve(request, response))
  const port = await listenOnLoopback(server)
  return {
    endpoint: `http://127.0.0.1:${port}`,
    objects,
    async [Symbol.asyncDispose]() {
      await closeServer(server)
    },
  }
}
