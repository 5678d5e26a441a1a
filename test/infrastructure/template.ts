/** A resource of a template. */
export interface Resource {
  Type: string
  // biome-ignore lint/suspicious/noExplicitAny: each type of resource has other properties.
  Properties: any
  DeletionPolicy?: string
  UpdateReplacePolicy?: string
  UpdatePolicy?: unknown
}

export interface Template {
  Resources: Record<string, Resource>
  // biome-ignore lint/suspicious/noExplicitAny: a value is text or a reference.
  Outputs?: Record<string, { Value: any }>
  Parameters?: Record<string, unknown>
}

export interface Templates {
  /** Of the main stack and its nested stacks as one, without those of the alarms. */
  template: Template
  /** Of the nested stacks of the alarms; empty on a stage without. */
  watch: Template
  /** Each stack as it is deployed, by name. */
  stacks: Record<string, Template>
  /** Of the main stack. */
  tags: Record<string, string>
}
