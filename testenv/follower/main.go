// Command follower follows the ConfigMaps of a namespace as Go controllers do, and tells what it sees.
//
// It has a typed, a dynamic and a metadata informer, and takes part in an election. On its input it is
// told what to do, one word per line; on its output it answers, one JSON object per line:
//
//	state      what each informer has, as name -> resourceVersion, and how often each was told
//	count NAME adds one to data.n of a ConfigMap, again and again until nobody is in the way
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/util/retry"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// follower is what one process knows.
type follower struct {
	client    kubernetes.Interface
	namespace string
	informers map[string]cache.SharedIndexInformer

	lock   sync.Mutex
	events map[string]map[string]int // informer -> "add", "update", "delete" -> how often
	leader string
	out    *json.Encoder
}

func main() {
	kubeconfig := flag.String("kubeconfig", "", "how to reach the server")
	namespace := flag.String("namespace", "default", "whose ConfigMaps are followed")
	name := flag.String("name", "follower", "who this is in the election")
	flag.Parse()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		fail(err)
	}
	config.QPS = -1 // as fast as it can; the server is to hold out
	followed, err := start(context.Background(), config, *namespace)
	if err != nil {
		fail(err)
	}
	go followed.elect(context.Background(), *name)
	followed.say(map[string]any{"synced": len(followed.informers)})
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		followed.obey(strings.Fields(lines.Text()))
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// start returns once all three informers have everything.
func start(ctx context.Context, config *rest.Config, namespace string) (*follower, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	untyped, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	heads, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	typed := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace))
	dynamics := dynamicinformer.NewFilteredDynamicSharedInformerFactory(untyped, 0, namespace, nil)
	metadatas := metadatainformer.NewFilteredSharedInformerFactory(heads, 0, namespace, nil)
	made := &follower{
		client:    client,
		namespace: namespace,
		informers: map[string]cache.SharedIndexInformer{
			"typed":    typed.Core().V1().ConfigMaps().Informer(),
			"dynamic":  dynamics.ForResource(configMaps).Informer(),
			"metadata": metadatas.ForResource(configMaps).Informer(),
		},
		events: map[string]map[string]int{},
		out:    json.NewEncoder(os.Stdout),
	}
	synced := make([]cache.InformerSynced, 0, len(made.informers))
	for name, informer := range made.informers {
		made.events[name] = map[string]int{}
		if _, err := informer.AddEventHandler(made.handler(name)); err != nil {
			return nil, err
		}
		synced = append(synced, informer.HasSynced)
		go informer.Run(ctx.Done())
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return nil, fmt.Errorf("the informers do not get to know everything")
	}
	return made, nil
}

func (f *follower) handler(name string) cache.ResourceEventHandler {
	count := func(event string) {
		f.lock.Lock()
		defer f.lock.Unlock()
		f.events[name][event]++
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { count("add") },
		UpdateFunc: func(any, any) { count("update") },
		DeleteFunc: func(any) { count("delete") },
	}
}

// elect takes part in an election for as long as the process runs.
func (f *follower) elect(ctx context.Context, name string) {
	lock := &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Name: "followers", Namespace: f.namespace},
		Client:     f.client.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: name},
	}
	for {
		leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
			Lock:          lock,
			LeaseDuration: 6 * time.Second,
			RenewDeadline: 4 * time.Second,
			RetryPeriod:   500 * time.Millisecond,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) {},
				OnStoppedLeading: func() {},
				OnNewLeader: func(leader string) {
					f.lock.Lock()
					defer f.lock.Unlock()
					f.leader = leader
				},
			},
		})
	}
}

func (f *follower) obey(words []string) {
	switch {
	case len(words) == 1 && words[0] == "state":
		f.say(f.state())
	case len(words) == 2 && words[0] == "count":
		if err := f.count(words[1]); err != nil {
			f.say(map[string]any{"error": err.Error()})
			return
		}
		f.say(map[string]any{"counted": words[1]})
	default:
		f.say(map[string]any{"error": "what is " + strings.Join(words, " ") + "?"})
	}
}

func (f *follower) state() map[string]any {
	f.lock.Lock()
	defer f.lock.Unlock()
	seen := map[string]map[string]string{}
	for name, informer := range f.informers {
		seen[name] = map[string]string{}
		for _, item := range informer.GetStore().List() {
			object := item.(metav1.Object)
			seen[name][object.GetName()] = object.GetResourceVersion()
		}
	}
	return map[string]any{"seen": seen, "events": f.events, "leader": f.leader}
}

// count reads, adds and writes, and begins again where somebody else was faster.
func (f *follower) count(name string) error {
	ctx := context.Background()
	maps := f.client.CoreV1().ConfigMaps(f.namespace)
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		found, err := maps.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		number, err := strconv.Atoi(found.Data["n"])
		if err != nil {
			return err
		}
		found.Data["n"] = strconv.Itoa(number + 1)
		_, err = maps.Update(ctx, found, metav1.UpdateOptions{})
		return err
	})
}

func (f *follower) say(what map[string]any) {
	if err := f.out.Encode(what); err != nil {
		fail(err)
	}
}
