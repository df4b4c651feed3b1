{{- define "atoll.selector" -}}
app.kubernetes.io/name: atoll
app.kubernetes.io/component: control-plane
{{- end }}

{{- define "atoll.labels" -}}
{{ include "atoll.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{- define "atoll.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "atoll.subjects" -}}
subjects:
  - kind: ServiceAccount
    name: atoll
    namespace: {{ .Release.Namespace | quote }}
{{- end }}
