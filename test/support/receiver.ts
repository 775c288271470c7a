import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { sleep } from '../../core/clock.ts'
import { closeServer, listenOnLoopback } from './loopback.ts'

export interface Notice {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly at: number
}

/** Responds to one request. */
export type Responder = (response: ServerResponse, request: IncomingMessage) => unknown

/** Webhook receiver: real server on loopback that stores received events. */
export interface Receiver {
  readonly port: number
  readonly notices: Notice[]
  answer(path: string, answering: Responder): void
  /** Waits until `count` events have arrived on a path and returns them. */
  next(path: string, count?: number): Promise<readonly Notice[]>
  close(): Promise<void>
}

const WAIT_MS = 20_000

export async function openReceiver(): Promise<Receiver> {
  const notices: Notice[] = []
  const answers = new Map<string, Responder>()
  const server = createServer((request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      const { url: path = '', headers } = request
      const body = Buffer.concat(pieces).toString('utf8')
      notices.push({ path, headers: headers as Notice['headers'], body, at: notices.length })
      const answering = answers.get(path) ?? ((out) => out.writeHead(204).end())
      answering(response, request)
    })
  })
  const port = await listenOnLoopback(server)
  return {
    port,
    notices,
    answer(path, answering) {
      answers.set(path, answering)
    },
    async next(path, count = 1) {
      for (let waited = 0; waited < WAIT_MS; waited += 20) {
        const mine = notices.filter((notice) => notice.path === path)
        if (mine.length >= count) return mine
        await sleep(20)
      }
      throw new Error(`${count} notices did not come to ${path}`)
    },
    async close() {
      await closeServer(server)
    },
  }
}
