import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { prefixedId } from '../ids.ts'
import { type Mail, MailServerUnavailable, type MailTransport } from './queue.ts'

/** Timeout of connection, greeting and each idle period. */
const TIMEOUT_MS = 15_000

/** Codes of nodemailer for a recipient or a mail that the server refused. */
const MAIL_ERRORS: ReadonlySet<string | undefined> = new Set(['EENVELOPE', 'EMESSAGE'])

/**
 * Sends by SMTP. Passes addresses as objects, because nodemailer parses a text with a comma as a
 * list of recipients.
 * @param url `smtp://user:password@host:587`, or `smtps://…:465`
 * @param from sender address
 */
export function smtpTransport(url: string, from: string): MailTransport {
  const open = async () => {
    const { createTransport } = await import('nodemailer') // 39 modules that serving does not need
    return createTransport({
      url,
      pool: true,
      maxConnections: 2,
      connectionTimeout: TIMEOUT_MS,
      greetingTimeout: TIMEOUT_MS,
      socketTimeout: TIMEOUT_MS,
      disableFileAccess: true,
      disableUrlAccess: true,
    })
  }
  let opened: ReturnType<typeof open> | undefined
  return {
    async send({ to, subject, text, unsubscribe }) {
      const transport = await (opened ??= open())
      const sending = transport.sendMail({
        from: { name: 'AgentHub', address: from },
        to: { name: '', address: to },
        envelope: { from, to: [to] },
        subject,
        text,
        headers: {
          'Auto-Submitted': 'auto-generated', // RFC 3834: no out-of-office answers
          ...(unsubscribe !== undefined && {
            'List-Unsubscribe': `<${unsubscribe}>`,
            'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
          }),
        },
      })
      await sending.catch((cause: Error & { readonly code?: string }) => {
        if (MAIL_ERRORS.has(cause.code)) throw cause
        throw new MailServerUnavailable(cause.message, { cause })
      })
    },
    async close() {
      ;(await opened)?.close()
    },
  }
}

/**
 * Writes mails to files instead of sending them, for the sandbox.
 * @param folder created when needed, readable only by its owner
 * @param onMail called with the file and content of each mail
 */
export function folderTransport(
  folder: string,
  onMail: (file: string, mail: Mail) => void,
): MailTransport {
  return {
    async send(mail) {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const file = join(folder, `${prefixedId('mail')}.txt`)
      const text = `To: ${mail.to}\nSubject: ${mail.subject}\n\n${mail.text}`
      await writeFile(`${file}.part`, text, { mode: 0o600 })
      await rename(`${file}.part`, file)
      onMail(file, mail)
    },
    async close() {},
  }
}
