import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { sleep } from '../../core/clock.ts'

export interface Received {
  /** Of the envelope: whom the server was told to give it to. */
  readonly to: readonly string[]
  /** Headers and words, as they came. */
  readonly raw: string
  readonly text: string
}

/** A real mail server on loopback, which keeps what it gets. */
export interface Mailbox {
  readonly url: string
  readonly mails: readonly Received[]
  /** Answers so many mails with "try again later". */
  refuse(times: number): void
  /** The mail to an address that comes next, after `seen` earlier ones. */
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
        mails.push({ to, raw, text: wordsOf(raw) })
        callback()
      })
    },
  })
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

/** The body of a plain mail, with the soft line breaks of quoted-printable undone. */
function wordsOf(raw: string): string {
  const body = raw.slice(raw.indexOf('\r\n\r\n') + 4)
  if (!/^content-transfer-encoding: quoted-printable/im.test(raw)) return body
  return body
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCodePoint(Number.parseInt(hex, 16)))
}
