import { join } from 'node:path'
import type { Pool } from 'pg'
import type { Config } from '../../core/config.ts'
import type { SigningKey } from '../../core/crypto/signing-key.ts'
import { LINK_SECONDS, MagicLinks } from '../../core/identity/magic-link.ts'
import type { Log } from '../../core/log.ts'
import type { MailSender } from '../../core/mail/queue.ts'
import { signInMail } from '../../core/mail/templates.ts'
import { folderTransport, smtpTransport } from '../../core/mail/transports.ts'
import { composePayoutMail } from '../../core/providers/payout-mails.ts'
import { CONFIRM_PATH } from '../web/pages/sign-in.ts'

/** Under the data directory: the mails of a sandbox that has no mail server. */
const OUTBOX = 'outbox'

/** Whether people can sign in: they need mails, and a sandbox keeps its own. */
export const canMail = (sandbox: boolean, mail: Config['mail']): boolean =>
  sandbox || mail !== undefined

/** How links are made out, and what their secret is for. */
export const openLinks = (pool: Pool, signingKey: SigningKey): MagicLinks =>
  new MagicLinks(pool, signingKey.deriveSecret('magic-links'))

/** Writes mails and sends them: by SMTP, or in a sandbox without it into a folder. */
export function openMailing(options: {
  readonly config: Pick<Config, 'mail' | 'dataDir'>
  readonly pool: Pool
  readonly signingKey: SigningKey
  readonly baseUrl: () => string
  readonly log: Log
  /** See `StartOptions`. */
  readonly print?: ((text: string) => void) | undefined
}): MailSender {
  const { config, pool, signingKey, baseUrl, log, print } = options
  const links = openLinks(pool, signingKey)
  const postman = config.mail
    ? smtpTransport(config.mail.smtpUrl, config.mail.from)
    : folderTransport(join(config.dataDir, OUTBOX), (file, { text }) => {
        log.info({ file }, 'a mail is kept')
        print?.(`A mail, kept in ${file}:\n${text}\n`)
      })
  return {
    transport: postman,
    async compose({ template, recipient, subject }) {
      if (template !== 'sign-in')
        return composePayoutMail(pool, template, recipient, subject, baseUrl())
      const token = await links.tokenFor(subject)
      if (token === undefined) return undefined
      const link = new URL(CONFIRM_PATH, baseUrl())
      link.searchParams.set('token', token)
      return signInMail(recipient, link.host, link.href, LINK_SECONDS / 60)
    },
  }
}
