import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import { prefixedId } from '../ids.ts'
import type { Mail, MailTransport } from './queue.ts'

/** For a connection, a greeting, and each silence of the mail server. */
const TIMEOUT_MS = 15_000

/**
 * Sends by SMTP. Addresses are given as objects: nodemailer would read a list out of a text with
 * a comma, and send to everybody on it.
 * @param url `smtp://user:password@host:587`, or `smtps://…:465`
 * @param from the address that mails come from
 */
export function smtpTransport(url: string, from: string): MailTransport {
  const transport = createTransport({
    url,
    pool: true,
    maxConnections: 2,
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return {
    async send({ to, subject, text }) {
      await transport.sendMail({
        from: { name: 'AgentHub', address: from },
        to: { name: '', address: to },
        envelope: { from, to: [to] },
        subject,
        text,
        headers: { 'Auto-Submitted': 'auto-generated' }, // RFC 3834: no out-of-office answers
      })
    },
    async close() {
      transport.close()
    },
  }
}

/**
 * Keeps mails as files instead, for the sandbox: whoever runs it reads them there.
 * @param folder made when needed, for the owner alone
 * @param tell is given the file and the text of each mail
 */
export function folderTransport(
  folder: string,
  tell: (file: string, mail: Mail) => void,
): MailTransport {
  return {
    async send(mail) {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const file = join(folder, `${prefixedId('mail')}.txt`)
      const text = `To: ${mail.to}\nSubject: ${mail.subject}\n\n${mail.text}`
      await writeFile(`${file}.part`, text, { mode: 0o600 })
      await rename(`${file}.part`, file)
      tell(file, mail)
    },
    async close() {},
  }
}
