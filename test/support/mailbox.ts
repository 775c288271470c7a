import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { sleep } from '../../core/clock.ts'

export interface Received {
  /** Recipients of the SMTP envelope. */
  readonly to: readonly string[]
  /** Received headers and body. */
  readonly raw: string
  readonly text: string
}

/** Real mail server on loopback that stores received mail. */
export interface Mailbox {
  readonly url: string
  readonly mails: readonly Received[]
  /** Rejects the next `times` mails with a temporary error. */
  refuse(times: number): void
  /** Waits for the next mail to an address after `seen` earlier ones. */
  next(to: string, seen?: number): Promise<Received>
  close(): Promise<void>
}

const WAIT_MS = 15_000

export async function openMailbox(): Promise<Mailbox> {
  const mails: Received[] = []
  let refusals = 0
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    onData(stream, session, callback) {
      const pieces: Buffer[] = []
      stream.on('data', (piece: Buffer) => pieces.push(piece))
      stream.on('end', () => {
        if (refusals > 0) {
          refusals--
          callback(Object.assign(new Error('try again later'), { responseCode: 451 }))
          return
        }
        const raw = Buffer.concat(pieces).toString('utf8')
        const to = session.envelope.rcptTo.map(({ address }) => address)
        mails.push({ to, raw, text: bodyOf(raw) })
        callback()
      })
    },
  })
  server.on('error', () => {}) // of connections that clients reset
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  const { port } = server.server.address() as AddressInfo
  return {
    url: `smtp://127.0.0.1:${port}`,
    mails,
    refuse(times) {
      refusals = times
    },
    async next(to, seen = 0) {
      for (let waited = 0; waited < WAIT_MS; waited += 50) {
        const mine = mails.filter((mail) => mail.to.includes(to))
        if (mine.length > seen) return mine[seen]!
        await sleep(50)
      }
      throw new Error(`no mail came to ${to}`)
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

/** Returns the body of a plain mail with quoted-printable decoded. */
function bodyOf(raw: string): string {
  const body = raw.slice(raw.indexOf('\r\n\r\n') + 4)
  if (!/^content-transfer-encoding: quoted-printable/im.test(raw)) return body
  return body
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCodePoint(Number.parseInt(hex, 16)))
}
