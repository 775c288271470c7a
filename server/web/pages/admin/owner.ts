import { z } from 'zod'
import type { AdminServiceJson } from '../../../rest/admin/services.ts'
import { form, formFields } from '../../form.ts'
import { type Html, html } from '../../html.ts'
import { type FormAction, formAction, type PageRequest } from '../../page.ts'
import { withQuery } from '../../table.ts'
import { reason, reasonField } from '../finance/components.ts'

/** What the form of the owner does. @param path of its page */
export const assignOwner = (path: string): FormAction =>
  formAction({
    fields: z.object({
      slug: z.string().max(40),
      id: z.string().max(40),
      name: z.string().trim().min(3, 'a wallet, or an address of mail').max(254),
      reason,
    }),
    run: async ({ api }, { slug, id, name, reason: why }) => {
      const body = { name, reason: why }
      await api('POST /v1/admin/providers/{id}/owner', { params: { id }, body })
      return { to: withQuery(path, { slug, done: 'owner' }) }
    },
  })

/** Says who earns with the provider of a service that a plugin declares. */
export function ownerForm({ submission, path }: PageRequest, service: AdminServiceJson): Html {
  const { slug, provider } = service
  const fields = formFields('owner', submission)
  return html`<section><h3>Say who earns</h3>${form({
    act: 'owner',
    submit: 'Set the owner',
    to: withQuery(path, { slug }),
    hidden: { slug, id: provider },
    fields: [
      fields.text({
        name: 'name',
        label: 'Wallet, or address of mail',
        hint: `They see the sales of ${provider}, and sign for where they are paid.`,
        required: true,
        max: 254,
      }),
      reasonField(fields),
    ],
  })}</section>`
}
