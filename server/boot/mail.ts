import { join } from 'node:path'
import type { Pool } from 'pg'
import { composeDomainProofMail } from '../../core/catalog/domains/proof-notice.ts'
import { composeIncidentMail } from '../../core/catalog/services/incident-mail.ts'
import type { Config } from '../../core/config.ts'
import { composeExpiryMail } from '../../core/finance/expire-credits.ts'
import { composeRateMail } from '../../core/finance/rate-requests.ts'
import type { CredentialGate } from '../../core/identity/credential-gate.ts'
import { LINK_SECONDS, MagicLinks } from '../../core/identity/magic-link.ts'
import type { Log } from '../../core/log.ts'
import type { Mail, MailRequest, MailSender } from '../../core/mail/queue.ts'
import { signInMail } from '../../core/mail/templates.ts'
import { folderTransport, smtpTransport } from '../../core/mail/transports.ts'
import {
  composePayoutAddressMail,
  composePayoutSentMail,
} from '../../core/providers/payout-mails.ts'
import type { SecretKeys } from '../../core/secret-keys/secret-keys.ts'
import { composeLowBalanceMail } from '../../core/usage/low-balance-mail.ts'
import { CONFIRM_PATH } from '../web/pages/sign-in.ts'

/** Folder in the data directory for emails of a sandbox without a mail server. */
const OUTBOX = 'outbox'

type Composer = (
  pool: Pool,
  recipient: string,
  subject: string,
  baseUrl: string,
) => Promise<Mail | undefined>

/** Composers of mails about a subject; they return undefined if the mail is outdated. */
const COMPOSERS: Readonly<Record<Exclude<MailRequest['template'], 'sign-in'>, Composer>> = {
  'payout-sent': composePayoutSentMail,
  'payout-address': composePayoutAddressMail,
  'credits-expiring': composeExpiryMail,
  'rate-decided': composeRateMail,
  incident: composeIncidentMail,
  'low-balance': composeLowBalanceMail,
  'domain-proof': composeDomainProofMail,
}

/** Returns true if people can sign in by email; a sandbox writes emails to a folder. */
export const canMail = (sandbox: boolean, mail: Config['mail']): boolean =>
  sandbox || mail !== undefined

/** Opens the magic links of sign-in emails. */
export const openLinks = (
  pool: Pool,
  secretKeys: Pick<SecretKeys, 'of'>,
  gate?: CredentialGate,
): MagicLinks => new MagicLinks(pool, secretKeys.of('sign-in-links'), gate)

/** Opens the mail sender: SMTP, or a folder in a sandbox without it. */
export function openMailing(options: {
  readonly config: Pick<Config, 'mail' | 'dataDir'>
  readonly pool: Pool
  readonly secretKeys: Pick<SecretKeys, 'of'>
  readonly baseUrl: () => string
  readonly log: Log
  readonly print?: ((text: string) => void) | undefined
}): MailSender {
  const { config, pool, secretKeys, baseUrl, log, print } = options
  const links = openLinks(pool, secretKeys)
  const transport = config.mail
    ? smtpTransport(config.mail.smtpUrl, config.mail.from)
    : folderTransport(join(config.dataDir, OUTBOX), (file, { text }) => {
        log.info({ file }, 'email stored')
        print?.(`Email stored in ${file}:\n${text}\n`)
      })
  return {
    transport,
    async compose({ template, recipient, subject }) {
      if (template !== 'sign-in') return COMPOSERS[template](pool, recipient, subject, baseUrl())
      const token = await links.tokenFor(subject)
      if (token === undefined) return undefined
      const link = new URL(CONFIRM_PATH, baseUrl())
      link.searchParams.set('token', token)
      return signInMail(recipient, link.host, link.href, LINK_SECONDS / 60)
    },
  }
}
