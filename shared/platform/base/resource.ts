import * as v from 'valibot'
import { describedAs, openPoint, perSettings } from '../../settings/per-settings.ts'
import type { SettingKey, Settings } from '../../settings/register.ts'

/** The schema of a field. It is a function if settings decide it. */
type FieldSchema = v.GenericSchema | ((settings: Settings) => v.GenericSchema)

/** A field that callers send. Its view has no limits: what was stored under earlier limits must stay readable. */
interface SentField {
  request: FieldSchema
  view: FieldSchema
}

type Fields = Readonly<Record<string, FieldSchema | SentField>>

type Built<Schema> = Schema extends (settings: Settings) => infer Result ? Result : Schema
type ObjectOf<Entries> = Entries extends v.ObjectEntries ? v.StrictObjectSchema<Entries, undefined> : never
type RequestOf<F extends Fields> = ObjectOf<{
  [Name in keyof F as F[Name] extends { request: unknown } ? Name : never]: F[Name] extends {
    request: infer Schema
  }
    ? Built<Schema>
    : never
}>
type WholeView<F extends Fields> = v.InferOutput<
  ObjectOf<{ [Name in keyof F]: Built<F[Name] extends { view: infer Schema } ? Schema : F[Name]> }>
>

/** A resource, of which one table of fields gives the requests, the views and the stored type. */
export interface Resource<View extends object = object, Request extends v.GenericSchema = v.GenericSchema> {
  /** The names of all fields. */
  names: readonly (keyof View & string)[]
  /** Returns the schema of the body that creates it. */
  request(settings: Settings): Request
  /** Returns the schema of its response, which takes a whole view. */
  view(settings: Settings): v.GenericSchema<View, Partial<View>>
  /** Returns the schemas of the fields that callers get. */
  shownEntries(settings: Settings): v.ObjectEntries
  /** Returns its whole view. A field that is absent from the stored resource is absent from the view. */
  viewOf(stored: View): View
  /** Returns what callers get of a whole view. */
  shown(view: View, settings: Settings): Partial<View>
}

/** The whole view of a resource. Its stored type adds what no caller sees. */
export type ViewOf<Of> = Of extends Resource<infer View> ? View : never

/**
 * Defines a resource.
 * @param title its name in the API description
 * @param shows whether callers of a deployment get a field
 */
export function defineResource<const F extends Fields>({
  title,
  setting,
  fields,
  shows,
}: {
  title: string
  setting: SettingKey
  fields: F
  shows: (name: keyof F, settings: Settings) => boolean
}): Resource<WholeView<F>, RequestOf<F>> {
  const names = Object.keys(fields)
  const request = perSettings((settings) => {
    const sent = Object.entries(fields).flatMap(([name, field]) =>
      isSent(field) ? [[name, built(field.request, settings)]] : [],
    )
    return v.pipe(v.strictObject(Object.fromEntries(sent)), v.title(`${title}Request`))
  })
  const entries = perSettings((settings) => {
    const all = Object.entries(fields).map(([name, field]) => [
      name,
      built(isSent(field) ? field.view : field, settings),
    ])
    return Object.fromEntries(all) as Record<string, v.GenericSchema>
  })
  const shownNames = perSettings((settings) => names.filter((name) => shows(name, settings)))
  const view = perSettings((settings) =>
    viewSchema({ title, setting, entries: entries(settings), shown: shownNames(settings) }),
  )
  const resource: Resource<Record<string, unknown>> = {
    names,
    request,
    view,
    shownEntries: (settings) => pick(entries(settings), shownNames(settings)),
    viewOf: (stored) => pick(stored, names),
    shown: (whole, settings) => pick(whole, shownNames(settings)),
  }
  return resource as unknown as Resource<WholeView<F>, RequestOf<F>>
}

function isSent(field: FieldSchema | SentField): field is SentField {
  return 'request' in field
}

function built(schema: FieldSchema, settings: Settings): v.GenericSchema {
  return typeof schema === 'function' ? schema(settings) : schema
}

/**
 * Returns the schema of a response of which a setting leaves out fields. It checks a whole view, and returns the part that
 * callers get. The API description shows that part.
 * @param shown the fields that callers get
 */
export function viewSchema<const Entries extends Record<string, v.GenericSchema>>({
  title,
  setting,
  entries,
  shown,
}: {
  title: string
  setting: SettingKey
  entries: Entries
  shown: readonly string[]
}) {
  const published = v.pipe(v.strictObject(pick(entries, shown)), openPoint(setting), v.title(title))
  return v.pipe(
    v.strictObject(entries),
    describedAs(published),
    v.transform((whole) => pick(whole as Record<string, unknown>, shown)),
  )
}

/** Returns the named members of an object that are present. */
function pick<Value>(of: Readonly<Record<string, Value>>, names: readonly string[]): Record<string, Value> {
  const present = names.filter((name) => of[name] !== undefined)
  return Object.fromEntries(present.map((name) => [name, of[name] as Value]))
}
