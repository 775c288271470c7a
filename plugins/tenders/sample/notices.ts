import type { Sample } from './write.ts'

const uuid = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`

/** Companies and places are invented; numbers are of a form that no real notice has. */
const SUN: Sample = {
  number: '90000001-2026',
  published: '2026-06-05',
  ojs: '107/2026',
  notice: uuid(1),
  version: '01',
  procedure: uuid(101),
  kind: 'competition',
  type: 'cn-standard',
  language: 'DEU',
  title: 'Beispiel: Photovoltaikanlage auf dem Betriebshof Musterstadt',
  buyer: { name: 'Stadtwerke Musterstadt (fiktiv)', country: 'DEU', nuts: 'DE600' },
  activity: 'electricity',
  cpv: ['09331200', '45261215'],
  value: ['1850000', 'EUR'],
  lots: [
    {
      id: 'LOT-0001',
      title: 'Photovoltaikanlage 750 kWp',
      cpv: '09331200',
      deadline: ['2026-06-15+02:00', '12:00:00+02:00'],
      documents: 'https://vergabe.musterstadt.example/101',
    },
  ],
}

const WIND: Sample = {
  number: '90000002-2026',
  published: '2026-06-05',
  ojs: '107/2026',
  notice: uuid(2),
  version: '01',
  procedure: uuid(102),
  kind: 'competition',
  type: 'cn-standard',
  language: 'SPA',
  title: 'Ejemplo: mantenimiento del parque eólico Sierra Ficticia',
  buyer: { name: 'Energía Ficticia S.A.', country: 'ESP', nuts: 'ES511' },
  activity: 'electricity',
  cpv: ['50532000', '31121320'],
  lots: [
    {
      id: 'LOT-0001',
      title: 'Turbinas 1 a 12',
      cpv: '50532000',
      value: ['640000', 'EUR'],
      deadline: ['2026-06-26+02:00', '14:00:00+02:00'],
    },
    {
      id: 'LOT-0002',
      title: 'Subestación 66 kV',
      cpv: '31170000',
      value: ['310000', 'EUR'],
      deadline: ['2026-07-03+02:00', '14:00:00+02:00'],
    },
  ],
}

const GRID: Sample = {
  number: '90000003-2026',
  published: '2026-06-05',
  ojs: '107/2026',
  notice: uuid(3),
  version: '01',
  procedure: uuid(103),
  kind: 'competition',
  type: 'cn-standard',
  language: 'POL',
  title: 'Przykład: budowa stacji elektroenergetycznej 110 kV Fikcja',
  buyer: { name: 'Operator Sieci Fikcyjnej', country: 'POL', nuts: 'PL911' },
  activity: 'electricity',
  cpv: ['45232220'],
  value: ['22000000', 'PLN'],
  lots: [
    {
      id: 'LOT-0001',
      title: 'Stacja 110 kV',
      cpv: '45232220',
      deadline: ['2026-06-30+02:00', '10:00:00+02:00'],
    },
  ],
}

/** Fictional notices, for use without the network. */
export const SAMPLES: readonly Sample[] = [
  SUN,
  WIND,
  GRID,
  {
    number: '90000004-2026',
    published: '2026-06-05',
    ojs: '107/2026',
    notice: uuid(4),
    version: '01',
    kind: 'planning',
    type: 'pin-only',
    language: 'NLD',
    title: 'Voorbeeld: batterijopslag voor het net van Fictiehaven',
    buyer: { name: 'Netbeheer Fictiehaven', country: 'NLD', nuts: 'NL33A' },
    activity: 'electricity',
    cpv: ['31400000', '09310000'],
    lots: [],
  },
  {
    ...SUN,
    number: '90000005-2026',
    published: '2026-06-10',
    ojs: '110/2026',
    version: '02',
    changes: {
      reference: `${uuid(1)}-01`,
      reason: 'update-add',
      section: 'LOT-0001',
      text: 'Beispiel: Die Angebotsfrist wird bis zum 24.06.2026 verlängert.',
    },
    lots: [{ ...SUN.lots[0]!, deadline: ['2026-06-24+02:00', '12:00:00+02:00'] }],
  },
  {
    ...GRID,
    number: '90000006-2026',
    published: '2026-06-10',
    ojs: '110/2026',
    notice: uuid(6),
    changes: {
      reference: '90000003-2026',
      reason: 'cancel',
      section: 'PROCEDURE',
      text: 'Przykład: zamawiający unieważnia postępowanie.',
    },
  },
  {
    number: '90000007-2026',
    published: '2026-06-10',
    ojs: '110/2026',
    notice: uuid(7),
    version: '01',
    procedure: uuid(107),
    kind: 'competition',
    type: 'cn-standard',
    language: 'FRA',
    title: "Exemple : fourniture d'électricité pour les écoles de Villefictive",
    buyer: { name: 'Ville de Villefictive', country: 'FRA', nuts: 'FR101' },
    activity: 'education',
    cpv: ['09310000'],
    lots: [
      {
        id: 'LOT-0001',
        title: 'Électricité',
        cpv: '09310000',
        value: ['420000', 'EUR'],
        deadline: ['2026-06-16+02:00', '17:00:00+02:00'],
        documents: 'https://marches.villefictive.example/107',
      },
    ],
  },
]
