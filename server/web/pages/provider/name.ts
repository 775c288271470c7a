import { z } from 'zod'
import type { ProviderNameJson } from '../../../rest/provider/name.ts'
import { collapsible, form, formFields } from '../../form.ts'
import { type Html, html } from '../../html.ts'
import { formAction, type PageRequest } from '../../page.ts'

/** Form action that chooses the display name. */
export const nameAction = formAction({
  fields: z.object({ name: z.string().trim().min(1, 'is required').max(60) }),
  run: async ({ api, path }, body) => {
    const { review } = await api<ProviderNameJson>('PUT /v1/provider/name', { body })
    return { to: `${path}?done=${review.waiting ? 'name-submitted' : 'name'}` }
  },
})

/** Display name of a provider, and the form that changes it. */
export function namePart(
  { name, review, provider_id: id }: ProviderNameJson,
  { submission }: PageRequest,
): Html {
  const { waiting, refused } = review
  const proposed = waiting?.changes.find(({ at }) => at === 'name')?.after ?? undefined
  const { text } = formFields('name', submission)
  const fields = form({
    act: 'name',
    submit: 'Save name',
    kind: 'plain',
    fields: [
      text({
        name: 'name',
        label: 'Display name',
        required: true,
        max: 60,
        value: proposed ?? name ?? '',
        hint: 'Names that resemble another provider or service are refused.',
      }),
    ],
  })
  const profile = id !== null && html` <a href="/providers/${id}">Your public profile</a>`
  const title = name === null ? 'Choose a display name' : html`Display name: ${name}`
  const isOpen = submission?.act === 'name' || (name === null && !waiting)
  return collapsible(
    title,
    html`<p>Buyers see it at your APIs instead of an id.${profile}</p>${
      waiting && html`<p class="box fair">“${proposed}” awaits approval.</p>`
    }${refused && html`<p class="box bad">Your last name was refused: ${refused.reason}</p>`}${
      fields
    }`,
    isOpen,
  )
}
