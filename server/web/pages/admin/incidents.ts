import { z } from 'zod'
import { INCIDENT_STATES } from '../../../../core/catalog/services/reported-incidents.ts'
import type { ReportedIncidentJson } from '../../../rest/admin/incidents.ts'
import { form, formFields } from '../../form.ts'
import { optionalText } from '../../form-schemas.ts'
import { type Html, html } from '../../html.ts'
import { INCIDENT_STATE_OPTIONS, incidentBadge, updateList } from '../../incidents.ts'
import { emptyState } from '../../messages.ts'
import { ADMIN_TABS } from '../../navigation.ts'
import { type AnyPage, formAction, type PageRequest, page } from '../../page.ts'
import { reason, reasonField } from '../finance/components.ts'

const PATH = '/admin/incidents'

const UPDATE_FIELDS = {
  state: z.enum(INCIDENT_STATES),
  message: z.string().trim().min(1, 'is required').max(1_000),
  reason,
} as const

/** `/admin/incidents`: reports incidents on the status page, and their updates. */
export const incidentsPage = (): AnyPage =>
  page(PATH, {
    actions: {
      report: formAction({
        fields: z.object({
          title: z.string().trim().min(1, 'is required').max(120),
          service: optionalText(40),
          ...UPDATE_FIELDS,
        }),
        run: async ({ api }, body) => {
          await api('POST /v1/admin/incidents', { body })
          return { to: `${PATH}?done=reported` }
        },
      }),
      update: formAction({
        fields: z.object({ incident: z.string().max(40), ...UPDATE_FIELDS }),
        run: async ({ api }, { incident: id, ...body }) => {
          await api('POST /v1/admin/incidents/{id}', { params: { id }, body })
          return { to: `${PATH}?done=updated` }
        },
      }),
    },
    notices: {
      reported: html`Incident published on the <a href="/status">status page</a> and its feed.`,
      updated: html`Update published on the <a href="/status">status page</a> and its feed.`,
    },
    render: async (request) => {
      const { data } = await request.api<{ data: readonly ReportedIncidentJson[] }>(
        'GET /v1/admin/incidents',
      )
      return {
        title: 'Incidents',
        tabs: ADMIN_TABS,
        main: html`<h1>Incidents</h1><p class="lead">Visitors see them on the
<a href="/status">status page</a> and in its RSS feed. Days with failed calls appear there by
themselves.</p>${
          data.length === 0
            ? emptyState('No incidents reported in 90 days.')
            : data.map((each) => incidentCard(each, request))
        }<h2>Report an incident</h2>${reportForm(request)}`,
      }
    },
  })

function incidentCard(
  { id, title, service, updates }: ReportedIncidentJson,
  request: PageRequest,
): Html {
  const [latest] = updates
  const fields = formFields('update', request.submission, { incident: id })
  return html`<article class="box"><h2>${title} ${latest && incidentBadge(latest.state)}</h2>${
    service !== null && html`<p>Affects <a href="/services/${service}">${service}</a>.</p>`
  }${updateList(updates)}<details${
    (fields.submitted || latest?.state !== 'resolved') && html` open`
  }><summary>Add an
update</summary>${form({
    act: 'update',
    submit: 'Publish update',
    label: `Publish update of ${title}`,
    hidden: { incident: id },
    fields: updateFields(fields, latest?.state),
  })}</details></article>`
}

function reportForm({ submission }: PageRequest): Html {
  const fields = formFields('report', submission)
  return form({
    act: 'report',
    submit: 'Publish incident',
    fields: [
      fields.text({ name: 'title', label: 'Title', max: 120, required: true }),
      fields.text({
        name: 'service',
        label: 'Affected service',
        hint: 'Slug; leave empty for the whole hub.',
        max: 40,
      }),
      ...updateFields(fields, 'investigating'),
    ],
  })
}

const updateFields = (
  fields: ReturnType<typeof formFields>,
  state: (typeof INCIDENT_STATES)[number] = 'resolved',
): readonly Html[] => [
  fields.select(
    { name: 'state', label: 'State', required: true, value: state },
    INCIDENT_STATE_OPTIONS,
  ),
  fields.text({
    name: 'message',
    label: 'Message',
    hint: 'What callers see, what it costs them, and what they can do.',
    lines: 3,
    max: 1_000,
    required: true,
  }),
  reasonField(fields),
]
